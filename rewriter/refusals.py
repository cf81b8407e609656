"""Statements of other databases that are not taken here, each with what to do instead. Pure."""

from __future__ import annotations

import logging

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.errors import Code, PalimpsestError, Position

_NO_LOCKS = "leave it out: the second of two writers of a row gets a serialization failure"
_NO_CARE = "leave it out: the store looks after itself"
_NO_INDEXES = "leave it out: lookups by primary key and UNIQUE need no index"
_NO_FILES = "one connection reads one warehouse; load other data with COPY .. FROM"
_ADVICE = {
    "ANALYZE": _NO_CARE,
    "ATTACH": _NO_FILES,
    "CACHE": _NO_CARE,
    "CHECKPOINT": "CALL system.flush() seals what is in the heads",
    "CLUSTER": _NO_CARE,
    "DEALLOCATE": "leave it out: plans of statements are kept by themselves",
    "DECLARE": "iterate over the cursor, which reads its rows as they are fetched",
    "DETACH": _NO_FILES,
    "DISCARD": "open a new connection, or RESET each setting",
    "DO": "send the statements one by one, in a transaction",
    "EXECUTE": "send the statement with its parameters; its plan is kept by itself",
    "EXPORT": "use `palimpsest export`",
    "FETCH": "iterate over the cursor, which reads its rows as they are fetched",
    "GRANT": "give rights at the server in front, or on the folder of the warehouse",
    "HANDLER": "read the table with SELECT",
    "IMPORT": "use `palimpsest import`, or COPY .. FROM",
    "INSTALL": "extensions are not loaded by clients",
    "LISTEN": "read table_changes('t', from, to) from time to time",
    "LOAD": "use COPY .. FROM, or `palimpsest import`",
    "LOCK": _NO_LOCKS,
    "MSCK": _NO_CARE,
    "NOTIFY": "read table_changes('t', from, to) from time to time",
    "PRAGMA": "SELECT * FROM system.settings lists what SET takes",
    "PREPARE": "send the statement with its parameters; its plan is kept by itself",
    "REFRESH": "query the view: it always shows the present rows",
    "REINDEX": _NO_INDEXES,
    "RENAME": "write ALTER TABLE .. RENAME TO",
    "REPAIR": _NO_CARE,
    "REVOKE": "give rights at the server in front, or on the folder of the warehouse",
    "UNCACHE": _NO_CARE,
    "UNLISTEN": "leave it out: there are no notifications",
    "UNLOCK": _NO_LOCKS,
}


def refusal(tokens: list[Token], ast: exp.Expr | None) -> PalimpsestError | None:
    """The error for a statement that another database has; None for any other text.

    ``ast`` is what the parser made of it, None when it made nothing.
    """
    first = tokens[0]
    word = first.text.upper()
    bare = first.token_type is not TokenType.IDENTIFIER
    if isinstance(ast, exp.Command) or (bare and word in _ADVICE and _means_nothing(ast)):
        return PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the statement {word} is not supported",
            advice=_ADVICE.get(word, "see docs/sql.md for the statements that are"),
            position=Position(first.line, max(1, first.col - len(first.text) + 1)),
        )
    return None


def _means_nothing(ast: exp.Expr | None) -> bool:
    """True for text that is no statement at all, or a name: what a parser makes of a bare word."""
    return ast is None or isinstance(ast, exp.Column | exp.Alias | exp.Dot)


def _keep_quiet(record: logging.LogRecord) -> bool:
    """The parser would warn of commands, with the client's text, which is refused here anyway."""
    return "Falling back to parsing as a 'Command'" not in str(record.msg)


logging.getLogger("sqlglot").addFilter(_keep_quiet)
