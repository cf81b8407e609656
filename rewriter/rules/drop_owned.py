"""DROP OWNED: what roles own goes, and so does what they were granted; the catalog alone changes.

As with DROP TABLE, journals stay, and UNDROP brings tables back. Memberships stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from journal.model.access import (
    PUBLIC,
    AccessControl,
    ObjectAccess,
    ObjectKey,
    ObjectKind,
    PutAccess,
    Rights,
)
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import (
    Change,
    DropRelation,
    DropSchema,
    PutRelation,
    StatementPlan,
    Step,
)
from journal.model.schema import Relation, Table, relation_key
from journal.model.sequence import Sequence
from journal.model.sequence_changes import DropSequence
from rewriter.context import RewriteContext
from rewriter.definitions.access import denied, find_role
from rewriter.definitions.foreign_keys import check_unreferenced
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.sequences import owned_by, users_of
from rewriter.reading.policies.named import without_roles
from rewriter.statements.access import DropOwned


def rewrite_drop_owned(ast: DropOwned, context: RewriteContext) -> StatementPlan:
    """DROP OWNED: by members of all the roles that it names, or by ADMIN.

    Raises DEPENDENT_OBJECTS where something stays that needs what goes; CASCADE takes defaults
    that use sequences, and what else is in schemas, but no rows of others behind foreign keys.
    """
    rights, catalog = context.rights, context.catalog
    roles = [find_role(name, context) for name in ast.roles]
    for role in roles:
        if not rights.is_admin and role.id not in rights.names:
            raise denied(f'to drop objects of "{role.name}"', "become a member of that role first")
    ids = {role.id for role in roles}
    owned = {key for key, access in catalog.access.objects.items() if access.owner in ids}
    schemas = {key.schema for key in owned if key.kind is ObjectKind.SCHEMA} & {*catalog.schemas}
    relations = _dropped_relations(catalog.relations.values(), owned, schemas, ast.cascade)
    sequences = _sequences(relations, owned, schemas, context, cascade=ast.cascade)
    _check_schemas(schemas - {catalog.home}, relations, sequences, context)
    check_unreferenced(catalog, [relation.name for relation in relations], None)
    steps: list[Step] = [*_without_defaults(relations, sequences, context, cascade=ast.cascade)]
    steps += [Change(DropRelation(relation.name)) for relation in relations]
    steps += [Change(DropSequence(sequence.name)) for sequence in sequences]
    steps += [
        Change(DropSchema(catalog.schemas[schema])) for schema in schemas if schema != catalog.home
    ]
    gone = {relation_key(relation) for relation in relations}
    gone |= {ObjectKey(ObjectKind.SEQUENCE, sequence.id) for sequence in sequences}
    gone |= {ObjectKey(ObjectKind.SCHEMA, 0, schema) for schema in schemas - {catalog.home}}
    steps += [Change(PutAccess(a)) for a in _without_roles(catalog.access, ids, gone)]
    return ddl_plan(steps, "DROP OWNED")


def _dropped_relations(
    relations: Collection[Relation], owned: set[ObjectKey], schemas: set[str], cascade: bool
) -> list[Relation]:
    return [
        relation
        for relation in relations
        if relation_key(relation) in owned or (cascade and relation.name.key[0] in schemas)
    ]


def _sequences(
    relations: list[Relation],
    owned: set[ObjectKey],
    schemas: set[str],
    context: RewriteContext,
    *,
    cascade: bool,
) -> list[Sequence]:
    """The sequences that go: of the roles, of columns that go, and what schemas hold."""
    tables = [r.id for r in relations if isinstance(r, Table)]
    of_columns = {s.id for table in tables for s in owned_by(context, table)}
    return [
        s
        for s in context.catalog.sequences.values()
        if s.id in of_columns
        or ObjectKey(ObjectKind.SEQUENCE, s.id) in owned
        or (cascade and s.name.key[0] in schemas)
    ]


def _check_schemas(
    schemas: set[str],
    relations: list[Relation],
    sequences: list[Sequence],
    context: RewriteContext,
) -> None:
    """Raise DEPENDENT_OBJECTS for a schema in which something would be left."""
    going = {found.name.key for found in (*relations, *sequences)}
    catalog = context.catalog
    held = (*catalog.relations.values(), *catalog.sequences.values())
    for found in (*held, *catalog.definitions.values()):
        if found.name.key[0] in schemas and found.name.key not in going:
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f"schema {found.name.schema} cannot be dropped: it holds {found.name}",
                advice="give that another owner or drop it; CASCADE takes tables, views, sequences",
            )


def _without_defaults(
    relations: list[Relation],
    sequences: list[Sequence],
    context: RewriteContext,
    *,
    cascade: bool,
) -> Iterator[Step]:
    """Take sequences that go from the defaults of tables that stay."""
    going = {relation.name.key for relation in relations}
    tables: dict[int, Table] = {}
    for table, column, name in users_of([s.name for s in sequences], context):
        if table.name.key in going:
            continue
        if not cascade:
            raise PalimpsestError(
                Code.DEPENDENT_OBJECTS,
                f'the default of column "{column.name}" of {table.name} uses sequence {name}',
                advice="drop that default first, or use CASCADE, which drops it",
            )
        known = tables.get(table.id, table)
        columns = tuple(replace(c, default=None) if c == column else c for c in known.columns)
        tables[table.id] = replace(known, columns=columns)
    for table in tables.values():
        yield Change(PutRelation(table, table.name))


def _without_roles(
    control: AccessControl, roles: set[int], gone: set[ObjectKey]
) -> Iterator[ObjectAccess]:
    """What is granted on what stays, without what the roles were granted and passed on."""
    for key, known in control.objects.items():
        if key in gone:
            continue
        is_theirs = key.kind is ObjectKind.DEFAULT and key.id in roles
        kept = () if is_theirs else tuple(g for g in known.grants if g.role not in roles)
        changed = without_roles(replace(known, grants=kept), roles)
        while True:
            now = control.after(PutAccess(changed))
            held = tuple(
                g
                for g in changed.grants
                if g.grantor == PUBLIC
                or Rights(now, g.grantor).may_grant(key, g.privilege, g.column)
            )
            if held == changed.grants:
                break
            changed = replace(changed, grants=held)
        if changed != known:
            yield changed
