"""Canonical AST (DuckDB's dialect) as Spark's or Hive's text; what they cannot say is refused.

    copy -> clauses written out -> parameters as literals -> types and functions mapped -> text

Thrift carries no parameters, so values become literals of the tree, which sqlglot writes; no text
of a client's is ever pasted. Pure: no driver.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlglot import ErrorLevel, exp
from sqlglot.errors import UnsupportedError

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import Parameters
from journal.sql import dialects
from journal.sql.lowering.select import prepare_selects
from journal.sql.lowering.sources import spread_values
from journal.sql.network_sql import keep_as_texts, names_addresses
from journal.stores.hive.dialect.apache import in_apache_terms
from journal.stores.hive.dialect.correlation_depth import bring_near
from journal.stores.hive.dialect.elements import settle_places
from journal.stores.hive.dialect.enums import note_enum
from journal.stores.hive.dialect.functions import CALLS
from journal.stores.hive.dialect.json import note_cast
from journal.stores.hive.dialect.moment_parts import TO_TIME
from journal.stores.hive.dialect.totals import add_totals
from journal.stores.hive.dialect.types import DIALECT, TYPES, microseconds
from journal.stores.hive.engine import HiveEngine


def rendered(
    ast: exp.Expr, parameters: Parameters | None = None, engine: HiveEngine = HiveEngine.SPARK
) -> str:
    """The text of a tree, which is left as it is, with the values of its parameters."""
    return _rendered(ast, lambda node: literal((parameters or {})[node.name]), engine)


def readable(ast: exp.Expr, shown: Callable[[str], str], engine: HiveEngine) -> str:
    """The text of a tree in lines, with ``shown(name)`` in the place of each parameter."""
    return _rendered(ast, lambda node: exp.Var(this=shown(node.name)), engine, pretty=True)


def _rendered(
    ast: exp.Expr,
    value_of: Callable[[exp.Placeholder], exp.Expr],
    engine: HiveEngine,
    *,
    pretty: bool = False,
) -> str:
    tree = prepare_selects(ast.copy(), distinct_on=False, counted_limits=False)
    holder = exp.Paren(this=tree)
    if engine is HiveEngine.SPARK:
        bring_near(holder)
    settle_places(holder)
    spread_values(holder)
    add_totals(holder)
    for given in list(holder.find_all(exp.Placeholder)):
        if isinstance(given.parent, exp.Cast) and names_addresses(given.parent.to):
            # What is known is read here, and not when the statement runs.
            given.replace(value_of(given))
    kept = keep_as_texts(holder.this)
    if kept is not holder.this:
        holder.set("this", kept)
    for node in list(holder.walk()):
        if isinstance(node, exp.Placeholder):
            node.replace(value_of(node))
        elif isinstance(node, exp.Identifier):
            node.set("quoted", True)
        elif isinstance(node, exp.Cast):
            note_cast(node)
            note_enum(node)
            node.meta[TO_TIME] = node.to.this is exp.DType.TIME
        elif isinstance(node, exp.In):
            _name_text(node)
        if isinstance(node, exp.TryCast):
            # Without it Spark's generator writes a CAST, which fails where this gives NULL.
            node.set("safe", True)
        elif isinstance(node, exp.CTE):
            node.set("materialized", None)
    for node in reversed(list(holder.find_all(exp.Expr))):
        if isinstance(node, exp.DataType):
            TYPES.change(node)
            continue
        replacement = CALLS.change(node)
        if replacement is not None:
            node.replace(replacement)
    if engine is HiveEngine.APACHE:
        in_apache_terms(holder)
    return engine_text(holder.this, engine, pretty=pretty)


def _name_text(node: exp.In) -> None:
    """Name the column of ``IN (SELECT 'x')``; without it Spark takes SELECT for the type of 'x'."""
    query = node.args.get("query")
    select = query.unnest() if isinstance(query, exp.Subquery) else query
    first = select.expressions[:1] if isinstance(select, exp.Select) else []
    if isinstance(select, exp.Select) and first and isinstance(first[0], exp.Literal):
        select.set("expressions", [exp.alias_(select.expressions[0], "_1", quoted=True)])


@dataclass(frozen=True, slots=True)
class Template:
    """The text of a tree in which parameters are left out: what stands before, between and after.

    ``filled`` is what ``rendered`` gives for the same parameters.
    """

    pieces: tuple[str, ...]
    names: tuple[str, ...]
    engine: HiveEngine = HiveEngine.SPARK

    @staticmethod
    def of(ast: exp.Expr, engine: HiveEngine = HiveEngine.SPARK) -> Template | None:
        """None unless every parameter is compared with a column: elsewhere its value matters."""
        names: list[str] = []
        plain = all(_MARK not in node.name for node in ast.find_all(exp.Literal, exp.Identifier))

        def gap(node: exp.Placeholder) -> exp.Expr:
            nonlocal plain
            plain = plain and _is_compared(node)
            names.append(node.name)
            return exp.Var(this=f"{_MARK}{len(names) - 1}{_MARK}")

        pieces = _rendered(ast, gap, engine).split(_MARK)
        if not plain:
            return None
        return Template(tuple(pieces[::2]), tuple(names[int(i)] for i in pieces[1::2]), engine)

    def filled(self, parameters: Parameters) -> str:
        """The text with values of its parameters."""
        found = [self.pieces[0]]
        for name, piece in zip(self.names, self.pieces[1:], strict=True):
            value = parameters[name]
            # Keys are numbers mostly, which are written as Python does.
            is_plain = type(value) is int
            told = str(value) if is_plain else rendered(literal(value), engine=self.engine)
            found += (told, piece)
        return "".join(found)


_MARK = "\x00"
"""What is around the number of a parameter that was left out; a tree that has one is not kept."""


def _is_compared(node: exp.Placeholder) -> bool:
    """True for a parameter that is compared with a column and nothing else."""
    beside = node.parent
    if isinstance(beside, exp.In) and beside.this is not node:
        return isinstance(beside.this, exp.Column)
    if not isinstance(beside, exp.EQ | exp.LT | exp.LTE | exp.GT | exp.GTE):
        return False
    other = beside.expression if beside.this is node else beside.this
    return isinstance(other, exp.Column)


def engine_text(
    tree: exp.Expr, engine: HiveEngine = HiveEngine.SPARK, *, pretty: bool = False
) -> str:
    """The text of a tree that is in the engine's terms already."""
    level = ErrorLevel.RAISE
    nuls = _stand_in(tree)
    if nuls:
        tree = tree.transform(lambda node: _replaced(node, nuls))
    try:
        text = dialects.generated(
            lambda: tree.sql(
                dialect=engine.dialect, comments=False, unsupported_level=level, pretty=pretty
            )
        )
    except UnsupportedError as error:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a Hive store cannot run this: {dialects.what_is_lacking(error)}",
            advice=f"use functions and types that {engine.value} has: docs/hive.md",
        ) from error
    return text.replace(nuls, "\\000") if nuls else text


def _stand_in(tree: exp.Expr) -> str:
    """A character for NUL that a tree does not have; "" if it has no NUL.

    sqlglot writes NUL as ``\\0``, and the engines take two digits behind that for a part of it.
    """
    texts = {node.name for node in tree.find_all(exp.Literal, exp.Identifier)}
    if not any("\0" in text for text in texts):
        return ""
    taken = set("".join(texts))
    return next(chr(code) for code in range(0xE000, 0x10FFFF) if chr(code) not in taken)


def _replaced(node: exp.Expr, stand_in: str) -> exp.Expr:
    if isinstance(node, exp.Literal) and node.is_string:
        return exp.Literal.string(node.name.replace("\0", stand_in))
    return node


def literal(value: Any) -> exp.Expr:
    """A Python value as a literal of Spark's; raises DATA for what it cannot hold."""
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            size = exp.Literal.number(abs(value))
            return exp.Neg(this=size) if value < 0 else size
        case float():
            return _cast(repr(value), "DOUBLE")
        case Decimal():
            return _decimal(value)
        case str():
            return exp.Literal.string(value)
        case bytes() | bytearray() | memoryview():
            return exp.Anonymous(this="unhex", expressions=[exp.Literal.string(bytes(value).hex())])
        case datetime.datetime() if value.tzinfo is not None:
            number = literal(microseconds(value))
            return exp.Anonymous(this="timestamp_micros", expressions=[number])
        case datetime.datetime():
            return _cast(value.isoformat(sep=" "), "TIMESTAMP_NTZ")
        case datetime.date():
            return _cast(value.isoformat(), "DATE")
        case datetime.time() | uuid.UUID():
            return exp.Literal.string(str(value))
        case list() | tuple():
            return exp.Anonymous(this="array", expressions=[literal(v) for v in value])
        case dict():
            parts: list[exp.Expr] = []
            for key, member in value.items():
                parts += [exp.Literal.string(str(key)), literal(member)]
            return exp.Anonymous(this="named_struct", expressions=parts)
        case _:
            raise PalimpsestError(
                Code.DATA,
                f"a Hive store takes no value of type {type(value).__name__}",
                advice="give a number, text, bytes, a date, a timestamp, a list or a dict",
            )


def _decimal(value: Decimal) -> exp.Expr:
    if not value.is_finite():
        return _cast(str(value), "DOUBLE")
    text = format(value, "f")
    digits = text.lstrip("-").replace(".", "")
    scale = len(text.partition(".")[2])
    return _cast(text, f"DECIMAL({max(len(digits), scale, 1)}, {scale})")


def _cast(text: str, kind: str) -> exp.Expr:
    to = exp.DataType.build(kind, dialect=DIALECT)
    return exp.Cast(this=exp.Literal.string(text), to=to)
