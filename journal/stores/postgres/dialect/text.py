"""Canonical AST (DuckDB's dialect) as PostgreSQL text; what PostgreSQL cannot say is refused.

    copy -> names folded and quoted -> types and functions mapped -> parameters numbered -> text

Names compare without regard to case in the canonical dialect, so every name is folded and quoted;
a node marked ``EXACT`` keeps its spelling (tables that were there before us). Pure: no driver.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from sqlglot import ErrorLevel, exp
from sqlglot.errors import UnsupportedError

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import fold
from journal.sql import dialects
from journal.sql.builders import call
from journal.sql.lowering.select import prepare_selects, result_names
from journal.stores.postgres.dialect.current_views import ease_planning
from journal.stores.postgres.dialect.enums import Enums, name_enums
from journal.stores.postgres.dialect.functions import CALLS
from journal.stores.postgres.dialect.lists import write_out_lists
from journal.stores.postgres.dialect.pivot import expanded, has_pivots
from journal.stores.postgres.dialect.types import TYPES

DIALECT = "postgres"
EXACT = "exact"
"""Marks, in an identifier's ``meta``, a name that is spelt as it is."""
PUBLIC_SCHEMA = "public"
"""The schema of names that give none, as the database has it."""
NAME_BYTES_MAX = 63
_SETTLED = re.compile(
    r""""(?:[^"]|"")*"|CAST\('(?:[^']|'')*' AS (?:TEXT|VARCHAR(?:\(\d+\))?)\)"""
    r"""|CAST\('\d{4}-\d\d-\d\d' AS DATE\)|'\d+-\d\d-\d\d \d\d:\d\d:\d\d\+00'"""
    r"""|INTERVAL '1 MICROSECOND'|'UTC'|'(?:[^']|'')*_palimpsest(?:[^']|'')*'"""
)
"""Names, and constants that are the same value in each time zone and at each time."""
_TIER = re.compile(r"t(\d+)(x\d+)?_(base|delta|history|head)$")

EpochOf = Callable[[int], int]
"""Says in which epoch the tiers of a table are read; see ``Manifest``."""


def unreplaced(_table: int) -> int:
    """The first epoch."""
    return 0


@dataclass(frozen=True, slots=True)
class Text:
    """SQL text with ``$1``.. for its parameters, their names in order, and its result's names.

    ``epochs`` are those of the tables whose tiers it reads, by their ids. ``enums`` are those whose
    types it names. ``start`` is where the query begins, in a text that makes a table of one.
    ``is_lasting`` says that it means the same whenever the server reads it: there is no constant
    in it that a time zone or the clock makes another value of, as 'today' is.
    """

    sql: str
    parameters: tuple[str, ...]
    names: tuple[str, ...] = ()
    epochs: tuple[tuple[int, int], ...] = ()
    enums: Enums = ()
    start: int = 0
    is_lasting: bool = False


def render(query: Query, epoch_of: EpochOf = unreplaced) -> Text:
    """The text of a query; kept on the query, since plans are reused."""
    return cached_text(query, "postgres", epoch_of, lambda: rendered(query.ast, epoch_of))


def cached_text(query: Query, place: str, epoch_of: EpochOf, make: Callable[[], Text]) -> Text:
    """A text that is kept on its query, made anew when it reads tiers of other epochs."""
    found = query.memo.get(place)
    if found is None or any(epoch_of(table) != epoch for table, epoch in found.epochs):
        found = query.memo[place] = make()
    assert isinstance(found, Text)
    return found


def rendered(ast: exp.Expr, epoch_of: EpochOf = unreplaced) -> Text:
    """The text of a tree, which is left as it is."""
    if has_pivots(ast):
        ast = expanded(ast)
    names = _result_names(ast)
    tree = ast.copy()
    tree = prepare_selects(write_out_lists(tree))
    _type_asked(tree)
    _check_bytes(tree)
    ease_planning(tree)
    enums = name_enums(tree)
    parameters: list[str] = []
    epochs: dict[int, int] = {}
    for node in list(tree.walk()):
        _settle(node, parameters)
        if isinstance(node, exp.Table) and node.db == STORE_SCHEMA:
            _name_epoch(node, epoch_of, epochs)
    holder = exp.Paren(this=tree)
    for node in reversed(list(holder.find_all(exp.Expr))):
        replacement = CALLS.change(node)
        if replacement is not None:
            node.replace(replacement)
    try:
        sql = dialects.generated(
            lambda: holder.this.sql(
                dialect=DIALECT, comments=False, unsupported_level=ErrorLevel.RAISE
            )
        )
    except UnsupportedError as error:
        raise refusal(str(error).rstrip(".")) from error
    is_lasting = "'" not in _SETTLED.sub("", sql)
    return Text(sql, tuple(parameters), names, tuple(epochs.items()), enums, 0, is_lasting)


@lru_cache(maxsize=1024)
def numbered(sql: str, count: int) -> str:
    """Constant SQL with the places of its values numbered, as the server has them."""
    for place in range(1, count + 1):
        sql = sql.replace("?", f"${place}", 1)
    return sql


def temporary(name: str, text: Text) -> Text:
    """The statement that keeps a query's rows as a relation until the transaction ends."""
    target = exp.to_identifier(fold(name), quoted=True).sql(dialect=DIALECT)
    start = f"CREATE TEMPORARY TABLE {target} ON COMMIT DROP AS "
    return replace(text, sql=f"{start}{text.sql}", start=len(start))


def shortened(name: str) -> str:
    """A name that PostgreSQL takes whole; it would cut others off without a word."""
    encoded = name.encode()
    if len(encoded) <= NAME_BYTES_MAX:
        return name
    kept = encoded[: NAME_BYTES_MAX - 9].decode(errors="ignore")
    return f"{kept}_{zlib.crc32(encoded):08x}"


def exact(name: str) -> exp.Identifier:
    """An identifier that keeps its spelling."""
    found = exp.to_identifier(name, quoted=True)
    found.meta[EXACT] = True
    return found


def quoted_text(value: str) -> str:
    """A text as a literal of SQL."""
    return str(exp.Literal.string(value).sql(dialect=DIALECT))


def refusal(what: str, advice: str = "") -> PalimpsestError:
    """What PostgreSQL cannot do, and what to do instead."""
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"a PostgreSQL store cannot run this: {what}",
        advice=advice or "use functions and types that PostgreSQL has: docs/postgresql.md",
    )


def _type_asked(tree: exp.Expr) -> None:
    """Give parameters a type of which only is asked whether they are NULL.

    The server cannot tell the type of such a one, when its value is NULL, and refuses it.
    """
    found: dict[str, list[exp.Placeholder]] = {}
    for node in tree.find_all(exp.Placeholder):
        found.setdefault(node.name, []).append(node)
    for nodes in found.values():
        asked = nodes[0].find_ancestor(exp.Is)
        if len(nodes) == 1 and asked is not None and asked.this.unnest() is nodes[0]:
            asked.set("this", exp.Cast(this=nodes[0], to=exp.DataType(this=exp.DType.TEXT)))


def _check_bytes(tree: exp.Expr) -> None:
    """Let casts to a byte fail beyond it; the type that PostgreSQL has for it holds two."""
    for cast in list(tree.find_all(exp.Cast)):
        value = cast.this
        is_fine = isinstance(value, exp.Null) or (
            isinstance(value, exp.Literal) and value.is_int and int(value.name) <= _BYTE_MAX
        )
        if type(cast) is exp.Cast and cast.to.this is exp.DType.TINYINT and not is_fine:
            cast.set("to", exp.DataType(this=exp.DType.INT))
            schema = exp.to_identifier(STORE_SCHEMA, quoted=True)
            cast.replace(exp.Dot(this=schema, expression=call("one_byte", cast)))


_BYTE_MAX = 127


def _name_epoch(node: exp.Table, epoch_of: EpochOf, epochs: dict[int, int]) -> None:
    """Name the view of a tier as it is called in the epoch of its table."""
    found = _TIER.match(node.name)
    if found is None:
        return
    table, layout, tier = int(found[1]), found[2] or "", found[3]
    epoch = epochs[table] = epoch_of(table)
    if epoch:
        node.set("this", exp.to_identifier(f"t{table}{layout}e{epoch}_{tier}"))


def _type_constants(group: exp.Group) -> None:
    """Give a text a type by which rows are grouped; the server takes bare ones for no places."""
    for value in group.expressions:
        if value.is_string or isinstance(value, exp.Null):
            value.replace(exp.Cast(this=value.copy(), to=exp.DataType(this=exp.DType.TEXT)))


def _settle(node: exp.Expr, parameters: list[str]) -> None:
    if isinstance(node, exp.Identifier):
        _fold(node)
    elif isinstance(node, exp.Placeholder):
        name = node.name
        if name not in parameters:
            parameters.append(name)
        number = exp.Literal.number(parameters.index(name) + 1)
        node.replace(exp.Parameter(this=number))
    elif isinstance(node, exp.DataType):
        TYPES.change(node)
    elif isinstance(node, exp.Group):
        _type_constants(node)


def _names_collation(node: exp.Identifier) -> bool:
    """True for the name of a collation in quotes, which has capitals in PostgreSQL."""
    order = node.parent if isinstance(node.parent, exp.Column) else node
    return (
        bool(node.args.get("quoted"))
        and isinstance(order.parent, exp.Collate)
        and order is order.parent.expression
    )


def _fold(node: exp.Identifier) -> None:
    name = str(node.this)
    if not node.meta.get(EXACT) and not _names_collation(node):
        name = fold(name)
    node.set("this", shortened(name))
    node.set("quoted", True)


def _result_names(ast: exp.Expr) -> tuple[str, ...]:
    """Names of a query's columns as written; empty where the database names them."""
    if not isinstance(ast, exp.Query | exp.Values):
        return ()
    return tuple(result_names(ast) or ())
