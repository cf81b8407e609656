"""SHOW, recognised by its tokens: sqlglot knows it in few dialects.

SHOW [FULL] TABLES | VIEWS [FROM|IN schema]     SHOW ALL TABLES | DESCRIBE [ALL] [TABLES]
SHOW COLUMNS FROM|IN t     SHOW CREATE TABLE|VIEW t     SHOW SCHEMAS | DATABASES
SHOW INDEXES [FROM|IN t]
SHOW EFFECTIVE POLICY [FOR] t [COLUMN c]
SHOW POLICY FOR SCHEMA s | DATABASE
SHOW POLICIES     SHOW POLICY [FOR] t     DESCRIBE POLICY t     SHOW TBLPROPERTIES t
SHOW query     which describes it, as DuckDB's does
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position
from rewriter.statement import Show, ShowSetting, SqlStatement

Parse = Callable[..., exp.Expr]
_FROM = frozenset({"FROM", "IN"})

_SPELLED_OUT = {
    "TRANSACTION ISOLATION LEVEL": "transaction_isolation",
    "TIME ZONE": "timezone",
    "SESSION AUTHORIZATION": "session_authorization",
}
"""Settings that SHOW names in several words."""


def show(tokens: list[Token], parse: Parse) -> Show | ShowSetting | SqlStatement:
    """The parsed SHOW; any other word is the name of a setting."""
    words = [t.text.upper() for t in tokens]
    rest, named = words[1:], tokens[1:]
    while rest[:1] in (["FULL"], ["EXTENDED"]):
        rest, named = rest[1:], named[1:]
    match rest:
        case []:
            return Show("TABLES")
        case ["ALL", "TABLES"]:
            return Show("ALL TABLES")
        case ["TABLES" | "VIEWS" as what]:
            return Show(what)
        case ["TABLES" | "VIEWS" as what, word, _] if word in _FROM:
            return Show(what, schema=named[2].text)
        case ["SCHEMAS" | "DATABASES" as what]:
            return Show(what)
        case ["COLUMNS" | "FIELDS", word, *_] if word in _FROM and len(rest) > 2:
            return Show("COLUMNS", _table(_of_schema(named[2:]), parse))
        case ["CREATE", "TABLE" | "VIEW", _, *_]:
            return Show("CREATE", _table(named[2:], parse))
        case ["INDEXES" | "INDEX" | "KEYS"]:
            return Show("INDEXES")
        case ["INDEXES" | "INDEX" | "KEYS", word, _, *_] if word in _FROM:
            return Show("INDEXES", _table(_of_schema(named[2:]), parse))
        case ["POLICIES"]:
            return Show("POLICIES")
        case ["POLICY", "FOR", "SCHEMA", _]:
            return Show("SCOPED POLICY", schema=named[3].text)
        case ["POLICY", "FOR", "DATABASE" | "WAREHOUSE"]:
            return Show("SCOPED POLICY")
        case ["EFFECTIVE", "POLICY", _, *_]:
            return _effective(named[2:], parse)
        case ["POLICY" | "TBLPROPERTIES" as what, "FOR" | "OF" | "FROM" | "IN" | "ON", _, *_]:
            return Show(what, _table(named[2:], parse))
        case ["POLICY" | "TBLPROPERTIES" as what, _, *_]:
            return Show(what, _table(named[1:], parse))
        case ["TABLES" | "VIEWS" | "COLUMNS" | "SCHEMAS" | "DATABASES" | "CREATE", *_]:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"SHOW {' '.join(rest)} is not supported",
                advice="query information_schema or the system schema, with WHERE as you like",
                position=token_position(tokens[0]),
            )
        case ["SELECT" | "WITH" | "FROM" | "VALUES" | "(", _, *_]:
            return SqlStatement(exp.Describe(this=parse(named)))
        case _:
            spelled = _SPELLED_OUT.get(" ".join(words[1:]))
            return ShowSetting(spelled or "".join(t.text for t in tokens[1:]))


def _effective(tokens: Sequence[Token], parse: Parse) -> Show:
    """SHOW EFFECTIVE POLICY of a table, perhaps of one of its columns alone."""
    rest = list(tokens)
    if rest[0].text.upper() in {"FOR", "OF"} and len(rest) > 1 and rest[1].text != ".":
        rest = rest[1:]
    column = None
    if len(rest) > 2 and rest[-2].text.upper() == "COLUMN" and rest[-3].text != ".":
        rest, column = rest[:-2], rest[-1].text
    return Show("EFFECTIVE POLICY", _table(rest, parse), column=column)


def describe(tokens: list[Token], parse: Parse) -> Show | None:
    """DESCRIBE POLICY t, and DuckDB's DESCRIBE [ALL] [TABLES]; None for every other DESCRIBE."""
    words = ["" if t.token_type is TokenType.IDENTIFIER else t.text.upper() for t in tokens]
    match words[1:]:
        case ["TABLES"]:
            return Show("TABLES")
        case [] | ["ALL"] | ["ALL", "TABLES"]:
            return Show("ALL TABLES")
    if words[1:2] != ["POLICY"] or len(words) < 3 or words[2] == ".":
        return None
    return Show("POLICY", _table(tokens[2:], parse))


def _of_schema(tokens: Sequence[Token]) -> list[Token]:
    """MySQL's ``t FROM schema`` leaves the table's own name; a dotted name is taken as it is."""
    end = next((i for i, t in enumerate(tokens) if t.text.upper() in _FROM), len(tokens))
    return list(tokens[:end])


def _table(tokens: Sequence[Token], parse: Parse) -> exp.Table:
    found = parse(list(tokens), exp.Table)
    assert isinstance(found, exp.Table)
    return found
