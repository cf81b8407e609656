"""Statements about a session that look like queries or locks: recognised, and never run here.

SELECT set_config('name', 'value', false), ..     SELECT pg_advisory_lock(1), ..
WITH a AS (SELECT set_config(..), ..) SELECT pg_advisory_lock(1), .. FROM a
SELECT pg_notify('channel', 'payload'), ..
DISCARD ALL | PLANS | SEQUENCES | TEMP
UNLISTEN channel | *     NOTIFY channel [, 'payload']
LOCK [TABLE] t, .. [IN mode MODE] [NOWAIT]
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import position_of, token_position
from rewriter.statement import Discard, LockTables, SelectedCall, SelectedCalls
from rewriter.syntax.token_reader import Parse, TokenReader

SET_CONFIG = "set_config"
NOTIFY = "pg_notify"
_ADVISORY = ("pg_advisory_", "pg_try_advisory_")
_DISCARDED = ("ALL", "PLANS", "SEQUENCES", "TEMP")
_WEAK = ("ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE")
"""Modes that keep nobody from reading or writing rows."""
_STRONG = (
    *("SHARE UPDATE EXCLUSIVE", "SHARE ROW EXCLUSIVE", "ACCESS EXCLUSIVE"),
    *("SHARE", "EXCLUSIVE"),
)


def session_calls(ast: exp.Expr) -> SelectedCalls | None:
    """A SELECT without FROM of which some values are calls that change the session, else None."""
    if not isinstance(ast, exp.Select):
        return None
    others = {name for name, value in ast.args.items() if value} - {"expressions", "kind"}
    calls = [_call(node) for node in ast.expressions]
    if not any(calls):
        return None
    setting = _setting_asked(ast) if others == {"from_", "where"} else None
    first = _calls_before(ast) if others == {"from_", "with_"} else None
    if others and setting is None and first is None:
        (wrong,) = [call for call in calls if call is not None][:1]
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{wrong.name.lower()} is not supported beside {', '.join(sorted(others))}",
            advice=f"write SELECT {wrong.name.lower()}(..) alone",
            position=position_of(wrong),
        )
    columns = [] if first is None else [replace(c, is_shown=False) for c in first.columns]
    for node, call in zip(ast.expressions, calls, strict=True):
        if call is None:
            columns.append(SelectedCall(node.alias_or_name or "?column?", None, (node,)))
        else:
            name = node.alias or call.name.lower()
            given = (setting.copy() if setting and _is_name(a) else a for a in call.expressions)
            columns.append(SelectedCall(name, call.name.lower(), tuple(given)))
    return SelectedCalls(tuple(columns), setting.name if setting else None)


def _calls_before(ast: exp.Select) -> SelectedCalls | None:
    """The calls of the one CTE that the query is from, if it reads nothing of it but its row."""
    (cte, *more), source = ast.args["with_"].expressions, ast.args["from_"].this
    is_from_it = isinstance(source, exp.Table) and not source.db and source.name == cte.alias
    reads = any(node.find(exp.Column, exp.Star) for node in ast.expressions)
    return session_calls(cte.this) if is_from_it and not more and not reads else None


def _setting_asked(ast: exp.Select) -> exp.Literal | None:
    """The name in ``FROM pg_settings WHERE name = '..'``, as pg_dump says of what may lack."""
    asked, (table, *more) = ast.args["where"].this, list(ast.find_all(exp.Table))
    if more or table.name.lower() != "pg_settings" or not isinstance(asked, exp.EQ):
        return None
    name = asked.expression
    found = _is_name(asked.this) and isinstance(name, exp.Literal) and name.is_string
    return name if found else None


def _is_name(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == "name"


def _call(node: exp.Expr) -> exp.Anonymous | None:
    inner = node.unalias()
    while isinstance(inner, exp.Paren | exp.Cast | exp.Dot):
        inner = inner.expression if isinstance(inner, exp.Dot) else inner.this
    if not isinstance(inner, exp.Anonymous):
        return None
    name = inner.name.lower()
    return inner if name in {SET_CONFIG, NOTIFY} or name.startswith(_ADVISORY) else None


def discard(tokens: list[Token], parse: Parse) -> Discard:
    """DISCARD and what is to be forgotten."""
    reader = TokenReader(tokens, parse, 1, "see docs/sql.md for what DISCARD takes")
    word = reader.word().upper()
    what = "TEMP" if word == "TEMPORARY" else word
    if what not in _DISCARDED:
        reader.place -= 1
        raise reader.error(f"{', '.join(_DISCARDED)} was expected")
    reader.ends("DISCARD takes one word")
    return Discard(what)


def unlisten(tokens: list[Token], parse: Parse) -> Discard:
    """UNLISTEN of a channel, or of all: there are none."""
    reader = TokenReader(tokens, parse, 1, "write UNLISTEN *")
    if not reader.takes("*"):
        reader.word()
    reader.ends("UNLISTEN takes one channel, or *")
    return Discard("CHANNELS")


def notify(tokens: list[Token], parse: Parse) -> Discard:
    """NOTIFY of a channel, to which nobody can have listened: LISTEN is refused."""
    reader = TokenReader(tokens, parse, 1, "write NOTIFY channel, 'payload'")
    reader.word()
    if reader.takes(","):
        reader.text()
    reader.ends("NOTIFY takes a channel and a payload")
    return Discard("MESSAGE")


def lock_tables(tokens: list[Token], parse: Parse) -> LockTables | None:
    """LOCK TABLE; None for MySQL's LOCK TABLES."""
    reader = TokenReader(tokens, parse, 1, "write LOCK TABLE t, .. IN mode MODE")
    if reader.takes("TABLES"):
        return None
    reader.takes("TABLE")
    reader.takes("ONLY")
    tables = [reader.name()]
    while reader.takes(","):
        tables.append(reader.name())
    mode = "ACCESS EXCLUSIVE"
    if reader.takes("IN"):
        mode = next((m for m in (*_WEAK, *_STRONG) if reader.takes(*m.split(), "MODE")), "")
        if not mode:
            raise reader.error("a mode of locks was expected")
    reader.takes("NOWAIT")
    reader.ends("nothing else stands behind the mode")
    if mode in _STRONG:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"LOCK TABLE IN {mode} MODE is not supported: nobody waits for another here",
            advice="leave it out: of two who change a row the second to commit gets 40001; SELECT"
            " .. FOR UPDATE claims rows that are read",
            position=token_position(tokens[0]),
        )
    return LockTables(tuple(tables), mode)
