"""Statements of other databases that are not taken here, each with what to do instead. Pure."""

from __future__ import annotations

import logging
from difflib import get_close_matches

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.checks.misspelled_keywords import misspelled_keyword
from rewriter.name_resolution import token_position

_NO_LOCKS = "leave it out: the second of two writers of a row gets a serialization failure"
_NO_CARE = "leave it out: the store looks after itself"
_NO_CODE = "leave it out, and write what it does as an expression or as a CREATE MACRO"
_INDEX_CLAUSES = (
    "write CREATE [UNIQUE] INDEX name ON t (columns) [WHERE ..]; NULLs are distinct, unless it is"
    " over ((a IS NULL), COALESCE(a, 0)) for each column a"
)
_NO_FILES = "one connection reads one warehouse; load other data with COPY .. FROM"
_ADVICE = {
    "ATTACH": _NO_FILES,
    "CACHE": _NO_CARE,
    "CLUSTER": _NO_CARE,
    "CREATE AGGREGATE": _NO_CODE,
    "CREATE CAST": _NO_CODE,
    "CREATE COLLATION": "write COLLATE NOCASE, NOACCENT or the name of a language",
    "CREATE DATABASE": "palimpsest init makes a warehouse; CREATE SCHEMA makes a schema in it",
    "CREATE EVENT TRIGGER": "read table_changes('t', from, to) from time to time",
    "CREATE FUNCTION": "in the postgres dialect write one query, LANGUAGE sql; else CREATE MACRO",
    "CREATE INDEX": _INDEX_CLAUSES,
    "CREATE UNIQUE INDEX": _INDEX_CLAUSES,
    "CREATE OPERATOR": _NO_CODE,
    "CREATE PROCEDURE": "run its statements in the application, in one transaction",
    "CREATE PUBLICATION": "read table_changes('t', from, to), or a policy of REPLICATION",
    "CREATE RULE": "write a view, and INSERT into the table itself",
    "CREATE STATISTICS": _NO_CARE,
    "CREATE SUBSCRIPTION": "a policy of REPLICATION copies a table",
    "CREATE TYPE": "use VARCHAR with a CHECK constraint",
    "DECLARE": "iterate over the cursor, which reads its rows as they are fetched",
    "DETACH": _NO_FILES,
    "DO": "in the postgres dialect DO $$ BEGIN .. END $$ runs statements",
    "EXPORT": "use `palimpsest export`",
    "FETCH": "iterate over the cursor, which reads its rows as they are fetched",
    "HANDLER": "read the table with SELECT",
    "IMPORT": "use `palimpsest import`, or COPY .. FROM",
    "INSTALL": "extensions are not loaded by clients",
    "LISTEN": "read table_changes('t', from, to) from time to time",
    "LOAD": "use COPY .. FROM, or `palimpsest import`",
    "LOCK": _NO_LOCKS,
    "MSCK": _NO_CARE,
    "PRAGMA": "write PRAGMA setting = value; DESCRIBE and SHOW TABLES list columns and tables",
    "REFRESH": "REFRESH MATERIALIZED VIEW v; a table shows its present rows by itself",
    "REINDEX": _NO_CARE,
    "RENAME": "write ALTER TABLE .. RENAME TO",
    "REPAIR": _NO_CARE,
    "UNCACHE": _NO_CARE,
    "UNLOCK": _NO_LOCKS,
}


_NO_WRITES = "leave WITH CHECK OPTION out: statements write to tables, and views are read"
_OF_OBJECTS = frozenset({"CREATE", "ALTER", "DROP"})
_OBJECTS = (
    "DOMAIN ENTITY INDEX MACRO MATERIALIZED ROLE SCHEMA SEQUENCE TABLE TEMPORARY TYPE UNIQUE USER"
    " VIEW"
).split()
_SAYS_HOW = frozenset({"CONSTRAINT", "RECURSIVE", "TEMP", "TEMPORARY", "TRUSTED", "UNLOGGED"})
"""Words before the kind of an object that are none."""
_CLOSE = 0.7
_WORDS_BEFORE_IF = 6
"""At most, behind CREATE OR REPLACE, with the words themselves: TEMPORARY RECURSIVE VIEW .."""


def advice_for(statement: str) -> str:
    """What to do instead of a statement, by its first words."""
    found = _ADVICE.get(statement) or _ADVICE.get(statement.split(" ")[0])
    if found is None and _has_forms(statement):
        return f"docs/grammar.md has the forms of {statement} that are"
    return found or "see docs/sql.md for the statements that are"


def _has_forms(statement: str) -> bool:
    """True for what other forms are taken of."""
    verb, _, kind = statement.partition(" ")
    return verb in _OF_OBJECTS and kind.removeprefix("UNIQUE ") in _OBJECTS


def _advice_in(tokens: list[Token], statement: str) -> str:
    last = [token.text.upper() for token in tokens if token.token_type is not TokenType.SEMICOLON]
    return _NO_WRITES if last[-2:] == ["CHECK", "OPTION"] else advice_for(statement)


def refusal(tokens: list[Token], ast: exp.Expr | None) -> PalimpsestError | None:
    """The error for a statement that another database has; None for any other text.

    ``ast`` is what the parser made of it, None when it made nothing.
    """
    first = tokens[0]
    word = first.text.upper()
    shown = _first_words(tokens)
    bare = first.token_type is not TokenType.IDENTIFIER
    if isinstance(ast, exp.Command) and word in _OF_OBJECTS and len(tokens) > 1:
        close = get_close_matches(tokens[1].text.upper(), _OBJECTS, n=1, cutoff=_CLOSE)
        close = [] if shown in _ADVICE else close
        if close and tokens[1].text.upper() not in _OBJECTS:
            return _unexpected(tokens[1], "a kind of object", f"did you mean {close[0]}?")
    if bare and word not in _ADVICE and isinstance(ast, exp.Condition | exp.Alias):
        slip = misspelled_keyword(first.text)
        advice = "statements begin with SELECT, INSERT, CREATE and the like: see docs/sql.md"
        return _unexpected(
            first, "a statement", advice if slip is None else f"did you mean {slip.meant}?"
        )
    if isinstance(ast, exp.Command) or (bare and word in _ADVICE and _means_nothing(ast)):
        named = shown if " " in shown else f"the statement {shown}"
        if _has_forms(shown):
            named = f"this form of {shown}"
        return PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{named} is not supported",
            advice=_advice_in(tokens, shown),
            position=token_position(first),
        )
    return None


def _first_words(tokens: list[Token]) -> str:
    """The first words of a statement, with the kind of object where it creates or drops one."""
    words = [token.text.upper() for token in tokens[:_WORDS_BEFORE_IF]]
    if words[0] not in _OF_OBJECTS:
        return " ".join(words[:2]) if " ".join(words[:2]) in _ADVICE else words[0]
    if words[1:3] == ["OR", "REPLACE"]:
        words = [words[0], *words[3:]]
    words = [word for word in words if word not in _SAYS_HOW]
    is_pair = words[1:3] in (["EVENT", "TRIGGER"], ["UNIQUE", "INDEX"])
    return " ".join(words[: 3 if is_pair else 2])


def _unexpected(word: Token, wanted: str, advice: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        f'{wanted} was expected near "{word.text}"',
        advice=advice,
        position=token_position(word),
    )


def _means_nothing(ast: exp.Expr | None) -> bool:
    """True for text that is no statement at all, or a name: what a parser makes of a bare word."""
    return ast is None or isinstance(ast, exp.Column | exp.Alias | exp.Dot)


def _keep_quiet(record: logging.LogRecord) -> bool:
    """The parser would warn of commands, with the client's text, which is refused here anyway."""
    return "Falling back to parsing as a 'Command'" not in str(record.msg)


logging.getLogger("sqlglot").addFilter(_keep_quiet)


def check_one_way_to_replace(tokens: list[Token]) -> None:
    """Raise SYNTAX for CREATE OR REPLACE .. IF NOT EXISTS, which says two things at once."""
    words = [token.text.upper() for token in tokens[: 3 + _WORDS_BEFORE_IF]]
    if words[:3] != ["CREATE", "OR", "REPLACE"]:
        return
    for place, token in enumerate(tokens[3 : len(words)], 3):
        if token.token_type is TokenType.L_PAREN:
            return
        if words[place : place + 3] == ["IF", "NOT", "EXISTS"]:
            raise _unexpected(token, "the name", "write OR REPLACE, or IF NOT EXISTS, not both")
