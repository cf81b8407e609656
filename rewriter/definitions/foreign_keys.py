"""Reads FOREIGN KEY and REFERENCES, and refuses changes that would break foreign keys.

A reference is resolved when the rest of the definition is known, because it may name the table
itself. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import ForeignKey
from journal.model.schema import CatalogSnapshot, Reference, Table, TableName, fold
from journal.sql.sql import data_type
from rewriter.context import RewriteContext
from rewriter.definitions.cascade_order import CascadeCircle, cascade_turns
from rewriter.definitions.definition import TableDraft, WantedKey
from rewriter.definitions.descriptions import shown_type
from rewriter.definitions.generated_values import with_generated
from rewriter.definitions.reference_options import check_actions, read_options
from rewriter.definitions.whole_numbers import are_whole
from rewriter.name_resolution import find_table, position_of, table_name

NOT_ENFORCED = (
    "leave it out: foreign keys are not enforced; check the reference with a query, or in the"
    " application"
)


def with_foreign_keys(draft: TableDraft, table: Table, context: RewriteContext) -> Table:
    """The finished definition with the foreign keys that the draft wants; raises if one cannot be.

    ``table`` is what the draft gives, and what a reference to itself means.
    """
    for wanted in draft.wanted:
        key = _resolve_key(wanted, table, context)
        table = replace(table, foreign_keys=(*table.foreign_keys, key))
        if key.on_delete.acts or key.on_update.acts:
            _check_circles(table, wanted, context)
    return table


def _check_circles(table: Table, wanted: WantedKey, context: RewriteContext) -> None:
    """Raise NOT_SUPPORTED if actions of foreign keys would bring each other about for ever."""
    old = context.catalog.by_id(table.id)
    after = context.catalog.with_relation(table, instead_of=None if old is None else old.name)
    tables = {t.id: frozenset(c.physical for c in t.stored) for t in after.tables()}
    try:
        cascade_turns(after.references, tables, tables, with_generated)
    except CascadeCircle as circle:
        names = ", ".join(
            f'"{a.reference.key.name}" of {a.reference.child.name}' for a in circle.actions
        )
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the actions of foreign keys would go in a circle: {names}",
            advice="give one of them NO ACTION, or SET NULL where it says CASCADE",
            position=position_of(wanted.node),
        ) from None


def check_unreferenced(
    catalog: CatalogSnapshot, gone: Collection[TableName], node: exp.Expr | None
) -> None:
    """Raise DEPENDENT_OBJECTS if tables that stay refer to one that shall go."""
    going = {name.key for name in gone}
    for name in gone:
        table = catalog.get(name)
        references = catalog.references.get(table.id, ()) if isinstance(table, Table) else ()
        for reference in references:
            if reference.parent is table and reference.child.name.key not in going:
                child, key = reference.child, reference.key
                raise PalimpsestError(
                    Code.DEPENDENT_OBJECTS,
                    f'{name} cannot be dropped: "{key.name}" of {child.name} refers to it',
                    advice=f'ALTER TABLE {child.name} DROP CONSTRAINT "{key.name}", or drop'
                    f" {child.name} too",
                    position=position_of(node),
                )


def without_references(catalog: CatalogSnapshot, gone: Collection[TableName]) -> list[Table]:
    """The tables that stay, without their foreign keys that refer to tables which go."""
    going = {name.key for name in gone}
    tables = [found for name in gone if isinstance(found := catalog.get(name), Table)]
    lost: dict[int, list[Reference]] = {}
    for table in tables:
        for reference in catalog.references.get(table.id, ()):
            if reference.parent is table and reference.child.name.key not in going:
                lost.setdefault(reference.child.id, []).append(reference)
    return [
        replace(
            references[0].child,
            foreign_keys=tuple(
                key
                for key in references[0].child.foreign_keys
                if all(key != reference.key for reference in references)
            ),
        )
        for references in lost.values()
    ]


def without_needing(old: Table, new: Table, catalog: CatalogSnapshot) -> tuple[Table, list[Table]]:
    """A new definition, and the other tables, without foreign keys that lose what they refer to.

    Those are the keys that refer to columns which nothing keeps unique any more.
    """
    lost: dict[int, set[ForeignKey]] = {}
    tables: dict[int, Table] = {}
    for reference in catalog.references.get(old.id, ()):
        if reference.parent.id == old.id and not new.has_unique(reference.key.parent_columns):
            lost.setdefault(reference.child.id, set()).add(reference.key)
            tables[reference.child.id] = reference.child

    children = [_without(tables[i], gone) for i, gone in lost.items() if i != old.id]
    return _without(new, lost.get(old.id, set())), children


def _without(table: Table, gone: set[ForeignKey]) -> Table:
    return replace(table, foreign_keys=tuple(k for k in table.foreign_keys if k not in gone))


def check_still_fits(old: Table, new: Table, catalog: CatalogSnapshot) -> None:
    """Raise DEPENDENT_OBJECTS if a table's new definition takes from a foreign key what it needs.

    Those are its columns and their types at both ends, and what makes the parent's columns unique.
    """
    for reference in catalog.references.get(old.id, ()):
        key, child = reference.key, reference.child
        if child.id == new.id:
            if key not in new.foreign_keys:
                continue
            _check_columns(old, new, key, key.columns)
        if reference.parent.id == new.id:
            _check_columns(old, new, key, key.parent_columns)
            if not new.has_unique(key.parent_columns):
                raise PalimpsestError(
                    Code.DEPENDENT_OBJECTS,
                    f'"{key.name}" of {child.name} needs the constraint or index that would go',
                    advice=f'ALTER TABLE {child.name} DROP CONSTRAINT "{key.name}" first',
                )


def _check_columns(old: Table, new: Table, key: ForeignKey, columns: Sequence[str]) -> None:
    kinds = {c.physical: c.type for c in new.columns}
    for physical in columns:
        stored = old.by_physical(physical)
        kind = kinds.get(physical)
        if kind is None or not _are_alike(kind, stored.type):
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f'column "{stored.name}" of {old.name} cannot be dropped or given another type:'
                f' foreign key "{key.name}" needs it',
                advice=f'drop the constraint "{key.name}" first',
            )


def _resolve_key(wanted: WantedKey, table: Table, context: RewriteContext) -> ForeignKey:
    node, where = wanted.reference, position_of(wanted.node)
    if not context.capabilities.foreign_keys:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{wanted.node.sql(dialect='duckdb')} in a table definition is not supported",
            advice=NOT_ENFORCED,
            position=where,
        )
    options = read_options(wanted)
    target = node.this
    named = target.expressions if isinstance(target, exp.Schema) else []
    target = target.this if isinstance(target, exp.Schema) else target
    if not isinstance(target, exp.Table):
        raise PalimpsestError(
            Code.SYNTAX,
            "REFERENCES names no table",
            advice="write REFERENCES table (columns)",
            position=where,
        )
    parent = table
    if not _is_itself(target, table, context):
        parent = find_table(target, context)
        parent = table if parent.id == table.id else parent
    if context.catalog.is_own(parent.name) != context.catalog.is_own(table.name):
        raise _foreign_key_error(
            f"{table.name} and {parent.name} must both be temporary, or neither",
            "refer to a table of the same kind",
            wanted,
        )
    if named:
        columns = TableDraft.of(parent).physical_names([n.name for n in named], wanted.node)
    else:
        columns = _key_of(parent, wanted)
    if len(columns) != len(wanted.columns) or len(named) not in {0, len(columns)}:
        raise _foreign_key_error(
            f"a foreign key of {table.name} has {len(wanted.columns)} columns, but refers to"
            f" {len(named) or len(columns)} of {parent.name}",
            "name as many columns of the parent, each once",
            wanted,
        )
    if not parent.has_unique(columns):
        shown = ", ".join(parent.by_physical(c).name for c in columns)
        raise _foreign_key_error(
            f"({shown}) of {parent.name} is neither its primary key nor UNIQUE",
            "refer to columns that are, or add a UNIQUE constraint or index to the parent",
            wanted,
        )
    _check_types(wanted, table, parent, columns)
    name = wanted.name or _free_name(table, wanted.columns)
    check_actions(table, wanted.columns, wanted)
    return ForeignKey(
        name,
        wanted.columns,
        parent.id,
        columns,
        options.on_delete,
        options.on_update,
        options.match_full,
        options.deferral,
    )


def _check_types(wanted: WantedKey, table: Table, parent: Table, columns: Sequence[str]) -> None:
    """Raise TYPE_MISMATCH if columns refer to some of another type."""
    for mine, theirs in zip(wanted.columns, columns, strict=True):
        mine_column, their_column = table.by_physical(mine), parent.by_physical(theirs)
        if not _are_alike(mine_column.type, their_column.type):
            raise PalimpsestError(
                Code.TYPE_MISMATCH,
                f'column "{mine_column.name}" is {shown_type(mine_column.type)}, but refers to'
                f' "{their_column.name}" of {parent.name}, which is'
                f" {shown_type(their_column.type)}",
                advice="give both columns the same type",
                position=position_of(wanted.node),
            )


def _is_itself(target: exp.Table, table: Table, context: RewriteContext) -> bool:
    """True if a reference means the table that is being defined, which may not be there yet."""
    if not target.db and fold(target.name) == table.name.key[1]:
        seen = {context.catalog.own, fold(context.default_schema)}
        return table.name.key[0] in seen
    return table_name(target, context).key == table.name.key


def _key_of(parent: Table, wanted: WantedKey) -> tuple[str, ...]:
    """The columns of the parent's primary key."""
    late = next((u.columns for u in parent.uniques if u.primary), None)
    found = late if parent.hidden_key else parent.key
    if found is None:
        raise _foreign_key_error(
            f"{parent.name} has no primary key to refer to",
            "name columns of it that are UNIQUE",
            wanted,
        )
    return found


def _are_alike(mine: str, theirs: str) -> bool:
    """True for the same type; how long a text may be, or a whole number, makes no difference."""
    if are_whole(mine, theirs):
        return True
    kinds = [data_type(text) for text in (mine, theirs)]
    if all(kind.is_type(*exp.DataType.TEXT_TYPES) for kind in kinds):
        return True
    return kinds[0] == kinds[1]


def _free_name(table: Table, columns: Sequence[str]) -> str:
    taken = {fold(k.name) for k in table.constraints}
    base = "_".join([table.name.name, *(table.by_physical(c).name for c in columns), "fkey"])
    return next(n for n in (f"{base}{i or ''}" for i in count()) if fold(n) not in taken)


def _foreign_key_error(message: str, advice: str, wanted: WantedKey) -> PalimpsestError:
    where = position_of(wanted.node)
    return PalimpsestError(Code.INVALID_DEFINITION, message, advice=advice, position=where)
