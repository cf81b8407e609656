"""Fields of a column, added, dropped or renamed: the column's type and its values after that. Pure.

A path leads from a column through fields of structs, ``element`` of lists, and ``key`` and
``value`` of maps, as DuckDB has it: ``ALTER TABLE t DROP COLUMN s.inner.element.k``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold
from journal.sql.relations import ident
from journal.sql.sql import cast
from rewriter.name_resolution import position_of

Fields = list[tuple[str, exp.DataType, exp.Expr]]
"""Name, type and value of each field of a struct."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What becomes of the fields of one struct, which ``path`` leads to from a column."""

    path: tuple[str, ...]
    edit: Callable[[Fields], Fields]
    node: exp.Expr

    def type(self, kind: exp.DataType) -> exp.DataType:
        """The column's type after the change; raises UNKNOWN_COLUMN if the path leads nowhere."""
        return self._changed(kind, exp.null(), 0)[0]

    def value(self, kind: exp.DataType, value: exp.Expr) -> exp.Expr:
        """A value of the column after the change; ``value`` stands in it more than once."""
        return self._changed(kind, value, 0)[1]

    def default(self, kind: exp.DataType, value: exp.Expr) -> exp.Expr:
        """A default of the column after the change; ``value`` stands in it once."""
        given = exp.to_identifier("_given")
        changed = _lambda(given, self.value(kind, given.copy()))
        made = exp.Transform(this=exp.Array(expressions=[value]), expression=changed)
        return exp.Bracket(this=made, expressions=[exp.Literal.number(0)], safe=False)

    def _changed(
        self, kind: exp.DataType, value: exp.Expr, depth: int
    ) -> tuple[exp.DataType, exp.Expr]:
        if kind.this is exp.DType.STRUCT:
            return self._changed_struct(kind, value, depth)
        parts = kind.expressions
        step = fold(self.path[depth]) if depth < len(self.path) else ""
        if kind.this is exp.DType.MAP and step in {"key", "value"}:
            place = 0 if step == "key" else 1
            entry = exp.to_identifier(f"_field_{depth}")
            pair = [_field(entry.copy(), "key"), _field(entry.copy(), "value")]
            inner, pair[place] = self._changed(parts[place], pair[place], depth + 1)
            changed = [inner if i == place else p.copy() for i, p in enumerate(parts)]
            made = _struct([("key", pair[0]), ("value", pair[1])])
            entries = exp.Anonymous(this="map_entries", expressions=[value.copy()])
            of_each = exp.Transform(this=entries, expression=_lambda(entry, made))
            return _with_parts(kind, changed), _or_null(value, exp.MapFromEntries(this=of_each))
        if kind.this in {exp.DType.ARRAY, exp.DType.LIST} and step == "element":
            element = exp.to_identifier(f"_field_{depth}")
            inner, made = self._changed(parts[0], element.copy(), depth + 1)
            each = exp.Transform(this=value.copy(), expression=_lambda(element, made))
            return _with_parts(kind, [inner]), each
        raise self._no_field_error(depth)

    def _changed_struct(
        self, kind: exp.DataType, value: exp.Expr, depth: int
    ) -> tuple[exp.DataType, exp.Expr]:
        fields: Fields = [
            (part.name, part.args["kind"], _field(value.copy(), part.name))
            for part in kind.expressions
        ]
        if depth == len(self.path):
            fields = self.edit(fields)
        else:
            place = find_field(fields, self.path[depth])
            if place is None:
                raise self._no_field_error(depth)
            name, inner, held = fields[place]
            fields[place] = (name, *self._changed(inner, held, depth + 1))
        columns = [exp.ColumnDef(this=ident(n), kind=t.copy()) for n, t, _ in fields]
        made = _struct([(name, held) for name, _, held in fields])
        return _with_parts(kind, columns), _or_null(value, made)

    def _no_field_error(self, depth: int) -> PalimpsestError:
        where = ".".join(self.path[: depth + 1])
        what = f'"{where}" is not a part of the column' if where else "the column is not a STRUCT"
        return PalimpsestError(
            Code.UNKNOWN_COLUMN,
            what if depth < len(self.path) else f"{what}, and neither is the last name of the path",
            advice="name fields of structs, element of lists, key and value of maps",
            position=position_of(self.node),
        )


def find_field(fields: Fields, name: str) -> int | None:
    """Place of the field of that name; None if there is none."""
    return next((i for i, (n, _, _) in enumerate(fields) if fold(n) == fold(name)), None)


def adding(node: exp.ColumnDef, default: exp.Expr) -> Callable[[Fields], Fields]:
    """Adds a field that holds ``default`` in the rows there are."""

    def edit(fields: Fields) -> Fields:
        if find_field(fields, node.name) is not None:
            if node.args.get("exists"):
                return fields
            raise _twice(node.name, node)
        kind = node.args["kind"]
        return [*fields, (node.name, kind, cast(default.copy(), kind.sql(dialect="duckdb")))]

    return edit


def dropping(name: str, node: exp.Expr) -> Callable[[Fields], Fields]:
    """Takes a field away; raises INVALID_DEFINITION for the last one."""

    def edit(fields: Fields) -> Fields:
        place = _known_place(fields, name, node)
        if place is None:
            return fields
        if len(fields) == 1:
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f'"{name}" is the only field of its STRUCT',
                advice="drop the column, or add another field first",
                position=position_of(node),
            )
        return [*fields[:place], *fields[place + 1 :]]

    return edit


def renaming(name: str, new: str, node: exp.Expr) -> Callable[[Fields], Fields]:
    """Gives a field another name."""

    def edit(fields: Fields) -> Fields:
        place = _known_place(fields, name, node)
        if place is None:
            return fields
        if find_field(fields, new) not in {None, place}:
            raise _twice(new, node)
        fields[place] = (new, *fields[place][1:])
        return fields

    return edit


def _known_place(fields: Fields, name: str, node: exp.Expr) -> int | None:
    """Place of a field; None where IF EXISTS lets it be missing, else raises UNKNOWN_COLUMN."""
    place = find_field(fields, name)
    if place is None and not node.args.get("exists"):
        raise PalimpsestError(
            Code.UNKNOWN_COLUMN,
            f'field "{name}" does not exist',
            advice=f"the fields are {', '.join(n for n, _, _ in fields)}",
            position=position_of(node),
        )
    return place


def _field(value: exp.Expr, name: str) -> exp.Expr:
    return exp.StructExtract(this=value, expression=exp.Literal.string(name))


def _struct(fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
    return exp.Struct(expressions=[exp.PropertyEQ(this=ident(n), expression=v) for n, v in fields])


def _lambda(variable: exp.Identifier, body: exp.Expr) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[variable])


def _or_null(value: exp.Expr, made: exp.Expr) -> exp.Expr:
    absent = exp.Is(this=value.copy(), expression=exp.null())
    return exp.Case().when(absent, exp.null(), copy=False).else_(made, copy=False)


def _with_parts(kind: exp.DataType, parts: Sequence[exp.Expr]) -> exp.DataType:
    made = kind.copy()
    made.set("expressions", list(parts))
    return made


def _twice(name: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.DUPLICATE_COLUMN,
        f'field "{name}" exists already',
        advice="name each field of a STRUCT once",
        position=position_of(node),
    )
