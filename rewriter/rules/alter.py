"""ALTER TABLE: a new definition, rows checked against it, and rewritten only where they must be.

Rows stay as they were written: columns keep their physical names, added ones show their default,
and old versions are read with the definition of then. Only values that no constant and no cast can
give (``DEFAULT random()``, ``USING ..``) are written, as a new version of every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from journal.identity.descriptor import with_descriptors
from journal.model.distribution import with_distribution
from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import Deferral
from journal.model.partitioning import with_partitioning
from journal.model.plan import (
    Change,
    PutRelation,
    StatementKind,
    StatementPlan,
    Step,
)
from journal.model.schema import Table, TableName, View, fold
from journal.sql.relations_flat import is_flat
from rewriter.context import RewriteContext
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.altered_index import altered_index
from rewriter.definitions.canonical_texts import default_text
from rewriter.definitions.changed_expressions import drop_expression, set_expression
from rewriter.definitions.collations import check_collations, read_collation
from rewriter.definitions.column_types import type_text
from rewriter.definitions.foreign_keys import (
    check_still_fits,
    with_foreign_keys,
    without_needing,
)
from rewriter.definitions.identity_changes import change_identity, is_about_identity
from rewriter.definitions.index_names import check_moved_indexes, find_index, find_key
from rewriter.definitions.index_terms import check_zones
from rewriter.definitions.keys_of_indexes import add_key_of_index
from rewriter.definitions.layouts import changed_layout
from rewriter.definitions.new_relations import (
    already_exists,
    check_journal_name,
    ddl_plan,
    resolve_schema,
    wrong_kind,
)
from rewriter.definitions.policies import check_properties
from rewriter.definitions.renamed_constraints import rename_constraint
from rewriter.definitions.replaced_sequence import replaced_sequence
from rewriter.definitions.sequences import find_sequence, with_named_defaults
from rewriter.definitions.skipping import none_to_drop, skipped_in_table
from rewriter.definitions.storage_actions import check_storage
from rewriter.definitions.struct_fields import FieldChange, adding, dropping, renaming
from rewriter.definitions.table_policies import check_policies_fit
from rewriter.definitions.temporary import new_temporary_name
from rewriter.definitions.type_families import is_assigned
from rewriter.dialect_semantics import semantics_of
from rewriter.functions import check_functions
from rewriter.name_resolution import find_table, position_of, table_name, unknown_table
from rewriter.reading.read_rewriter import Reads
from rewriter.reading.view_columns import renamed_column
from rewriter.syntax.statements.alter import (
    DEFERRAL,
    NOT_VALID,
    OF_INDEX,
    PRIMARY,
    RENAMES,
    VALIDATES,
    WITHIN,
)
from rewriter.syntax.statements.alter_generated import DROPS_EXPRESSION, EXPRESSION, IF_GENERATED
from rewriter.syntax.statements.alter_storage import STORAGE
from rewriter.writing.altered_rows import altering_steps
from rewriter.writing.altered_texts import with_own_text
from rewriter.writing.rekeyed_rows import in_new_journal
from rewriter.writing.views_of_columns import drop_views_of_columns
from rewriter.writing.views_of_renamed import views_of_renamed


def rewrite_alter(ast: exp.Alter, context: RewriteContext) -> StatementPlan:
    """The plan of an ALTER TABLE."""
    node = ast.this
    found = context.catalog.get(table_name(node, context))
    if ast.args.get("exists") and found is None:
        return ddl_plan([], "ALTER TABLE", [none_to_drop("relation", node.name)])
    renames = all(
        isinstance(action, exp.AlterRename | exp.RenameColumn) for action in ast.args["actions"]
    )
    if renames and isinstance(found, View):
        return rewrite_alter_view(ast, context)
    if renames and found is None:
        other = _other_object(ast, context)
        if other is not None:
            return other
    table = find_table(node, context)
    drops = semantics_of(context.dialect).indexes_are_relations
    change = Alteration.of(table, context.capabilities.column_name, drops_dependents=drops)
    name = table.name
    told: list[str] = []
    for action in ast.args["actions"]:
        told += skipped_in_table(change, action)
        if isinstance(action, exp.AlterRename):
            name = _new_name(name, action, context)
        elif action.args.get(STORAGE):
            check_storage(change, action, context)
        elif isinstance(action, exp.AlterColumn) and is_about_identity(action):
            change_identity(change, action, context.new_table_id)
        else:
            if semantics_of(context.dialect).types_by_assignment:
                _check_assigned(change, action)
            _apply_action(change, with_own_text(change, action, context))
    if all(action.args.get(STORAGE) for action in ast.args["actions"]):
        return ddl_plan([], "ALTER TABLE")
    if name.key != table.name.key and change.draft.key and change.draft.key_name is None:
        # The constraint keeps the name that it got with the table.
        change.draft.key_name = f"{table.name.name}_pkey"
    change.draft.name = name
    altered = replace(
        change.draft.table(table.id),
        comment=table.comment,
        properties=tuple(change.properties.items()),
        layout=table.layout,
    )
    altered = with_named_defaults(with_foreign_keys(change.draft, altered, context), context)
    check_collations(altered, context, node)
    check_policies_fit(table, altered, context)
    let_go: list[Step] = []
    if any(action.args.get("cascade") for action in ast.args["actions"]):
        altered, children = without_needing(table, altered, context.catalog)
        let_go = [Change(PutRelation(child)) for child in children]
        context = _with_relations(children, context)
    check_still_fits(table, altered, context.catalog)
    check_zones(altered)
    check_properties(altered, table, context)
    altered = with_partitioning(with_descriptors(altered, table), table)
    altered = with_distribution(altered, table)
    if changed_layout(table, altered):
        altered = replace(altered, layout=context.new_table_id)
    if change.rekeyed:
        altered = in_new_journal(table, altered, context)
    if name != table.name:
        _check_not_flat(table, node)
        check_journal_name(altered, node, context)
    if name.key[0] != table.name.key[0]:
        check_moved_indexes(altered, node, context)
    steps = [*let_go, *drop_views_of_columns(ast, table, altered, context)]
    steps += views_of_renamed(table, altered.name, _renamed_columns(table, altered), context)
    plan = _plan(change, table, altered, context, steps)
    return replace(plan, notices=(*plan.notices, *told))


def _with_relations(tables: Sequence[Table], context: RewriteContext) -> RewriteContext:
    catalog = context.catalog
    for table in tables:
        catalog = catalog.with_relation(table)
    return replace(context, catalog=catalog)


def _renamed_columns(old: Table, new: Table) -> dict[str, str]:
    """The new names of columns by their folded old ones."""
    names = {column.physical: column.name for column in new.columns}
    pairs = ((fold(c.name), names.get(c.physical, c.name)) for c in old.columns)
    return {before: after for before, after in pairs if fold(after) != before}


def _other_object(ast: exp.Alter, context: RewriteContext) -> StatementPlan | None:
    """The plan for an index or a sequence, which PostgreSQL renames by ALTER TABLE too."""
    if find_index(ast.this, context) or find_key(ast.this, context):
        return altered_index(ast, context)
    sequence = find_sequence(ast.this, context)
    if sequence is None:
        return None
    name = sequence.name
    for action in ast.args["actions"]:
        if not isinstance(action, exp.AlterRename):
            raise _unknown_action(action)
        name = _new_name(name, action, context)
    made = replace(sequence, name=name)
    return ddl_plan(replaced_sequence(sequence, made, ast.this, context), "ALTER TABLE")


def _check_not_flat(table: Table, node: exp.Expr) -> None:
    """Raise NOT_SUPPORTED for a table over a journal that others find by its name."""
    if is_flat(table):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{table.name} has an adopted journal, and other tools know it by its name",
            advice="palimpsest eject it, rename what that leaves, and adopt it again",
            position=position_of(node),
        )


def rewrite_alter_view(ast: exp.Alter, context: RewriteContext) -> StatementPlan:
    """The plan of an ALTER VIEW, which renames or moves it, and renames its columns."""
    name = table_name(ast.this, context)
    found = context.catalog.get(name)
    if found is None:
        if ast.args.get("exists"):
            return ddl_plan([], "ALTER VIEW", [none_to_drop("relation", name.name)])
        raise unknown_table(name, context.catalog, ast.this)
    if not isinstance(found, View):
        raise wrong_kind(name, found, ast.this)
    made = found
    for action in ast.args["actions"]:
        if isinstance(action, exp.RenameColumn):
            made = renamed_column(made, action, context)
        elif isinstance(action, exp.AlterRename):
            name = _new_name(name, action, context)
        else:
            raise _unknown_action(action)
    columns = {
        fold(action.this.name): action.args["to"].name
        for action in ast.args["actions"]
        if isinstance(action, exp.RenameColumn)
    }
    put = PutRelation(replace(made, name=name), instead_of=found.name)
    steps = views_of_renamed(found, name, columns, context)
    return ddl_plan([*steps, Change(put)], "ALTER VIEW")


def _apply_action(change: Alteration, action: exp.Expr) -> None:
    match action:
        case exp.ColumnDef() if action.args.get(WITHIN):
            _add_field(change, action)
        case exp.ColumnDef():
            change.add_column(action)
        case exp.Schema():
            for node in action.expressions:
                _apply_action(change, node)
        case exp.Drop() if action.args["kind"] == "COLUMN":
            for node in action.args["tables"]:
                name, *path = _path_of(node, action)
                if path:
                    edit = dropping(path.pop(), action)
                    change.change_fields(name, FieldChange(tuple(path), edit, action))
                else:
                    change.drop_column(name, action)
        case exp.Drop() if action.args["kind"] == "CONSTRAINT":
            for node in action.args["tables"]:
                change.drop_constraint(node.name, node, exists=bool(action.args.get("exists")))
        case exp.DropPrimaryKey():
            change.drop_constraint(_key_name(change), action, exists=False)
        case exp.RenameColumn():
            name, *path = _path_of(action.this, action)
            new = action.args["to"].name
            if path:
                edit = renaming(path.pop(), new, action)
                change.change_fields(name, FieldChange(tuple(path), edit, action))
            elif not action.args.get("exists") or change.has_column(name):
                change.rename_column(name, new, action)
        case exp.AlterColumn():
            _alter_column(change, action)
        case exp.ModifyColumn():
            _modify_column(change, action)
        case exp.AddConstraint() if action.args.get(VALIDATES):
            change.validate(action.expressions[0].name, action)
        case exp.AddConstraint() if action.args.get(RENAMES):
            rename_constraint(change, action.expressions[0].name, action.args[RENAMES], action)
        case exp.AddConstraint() if action.args.get(DEFERRAL):
            change.defer(action.expressions[0].name, deferral_of(action.args[DEFERRAL]), action)
        case exp.AddConstraint() if action.args.get(OF_INDEX):
            name = action.expressions[0].name
            is_primary = bool(action.args[PRIMARY])
            add_key_of_index(change, action.args[OF_INDEX], name, primary=is_primary)
        case exp.AddConstraint():
            for node in action.expressions:
                change.add_constraint(node, checks_rows=not action.args.get(NOT_VALID))
        case exp.AlterSet() if _only_properties(action):
            for node in action.expressions:
                value = node.args.get("value")
                change.set_property(node.name, None if value is None else value.name)
        case _:
            raise _unknown_action(action)


def _add_field(change: Alteration, action: exp.ColumnDef) -> None:
    """A field of a struct, with a default for the rows there are; it takes no constraint.

    The default is what a column's may be, but that it takes no value of a sequence.
    """
    default: exp.Expr = exp.null()
    for constraint in action.args.get("constraints") or []:
        kind = constraint.args["kind"]
        if not isinstance(kind, exp.DefaultColumnConstraint):
            raise _unknown_action(constraint)
        default = kind.this
        default_text(default, f'the DEFAULT of field "{action.name}"')
        check_functions(default)
    name, *path = (part.name for part in action.args[WITHIN])
    change.change_fields(name, FieldChange(tuple(path), adding(action, default), action))


def deferral_of(text: str) -> Deferral:
    """When a foreign key is checked, as ALTER CONSTRAINT says it."""
    if text == Deferral.NEVER:
        return Deferral.NEVER
    return Deferral.INITIALLY if text.endswith("DEFERRED") else Deferral.ON_REQUEST


def _path_of(node: exp.Expr, action: exp.Expr) -> list[str]:
    """The column that is named, and the fields within it; raises NOT_SUPPORTED for no name."""
    if not isinstance(node, exp.Column | exp.Table | exp.Dot):
        raise _unknown_action(action)
    return [part.name for part in node.parts]


def _only_properties(action: exp.AlterSet) -> bool:
    """False for settings of other databases, such as LOGGED or TABLESPACE, or without brackets."""
    others = [name for name, value in action.args.items() if value and name != "expressions"]
    named = bool(action.expressions) and all(
        isinstance(e, exp.Property) for e in action.expressions
    )
    return named and not others


def _key_name(change: Alteration) -> str:
    added = next((u.name for u in change.draft.uniques if u.primary), None)
    return added or change.draft.key_name or f"{change.table.name.name}_pkey"


def _check_assigned(change: Alteration, action: exp.Expr) -> None:
    """Raise TYPE_MISMATCH for a type that present values take by a cast alone."""
    given = action.args
    if not isinstance(action, exp.AlterColumn) or given.get("dtype") is None or given.get("using"):
        return
    stored = change.draft.columns[change.column_index(action.name, action)]
    wanted = type_text(given["dtype"])
    if stored.generated is None and not is_assigned(stored.type, wanted):
        name = action.this.sql(dialect="duckdb")
        raise PalimpsestError(
            Code.TYPE_MISMATCH,
            f'column "{stored.name}" of type {stored.type} does not become {wanted} without a cast',
            advice=f"add USING {name}::{wanted}",
            position=position_of(action),
        )


def _alter_column(change: Alteration, action: exp.AlterColumn) -> None:
    name = action.name
    given = action.args
    if given.get("visible") or given.get("rename_to"):
        raise _unknown_action(action)
    if given.get(EXPRESSION) is not None:
        set_expression(change, name, given[EXPRESSION], action)
    elif given.get(DROPS_EXPRESSION):
        drop_expression(change, name, action, exists=bool(given.get(IF_GENERATED)))
    elif given.get("dtype") is not None:
        change.change_type(name, given["dtype"], given.get("using") or None, action)
        _set_collation(change, name, given.get("collate"), action)
    elif given.get("default") is not None:
        change.set_default(name, given["default"], action)
    elif given.get("allow_null") is not None:
        change.set_not_null(name, required=not given["allow_null"], node=action)
    elif given.get("comment") is not None:
        change.set_comment(name, given["comment"].name, action)
    elif given.get("drop"):
        change.set_default(name, None, action)
    else:
        raise _unknown_action(action)


def _set_collation(change: Alteration, name: str, node: exp.Expr | None, action: exp.Expr) -> None:
    """The collation that a type is given with; a type without one takes it away."""
    index = change.column_index(name, action)
    stored = change.draft.columns[index]
    order = read_collation(node, stored) if node else None
    change.draft.columns[index] = replace(stored, collation=order)


def _modify_column(change: Alteration, action: exp.ModifyColumn) -> None:
    """MODIFY and CHANGE give the whole definition anew; keys and checks stay."""
    node = action.this
    old = action.args.get("rename_from")
    if old is not None and old.name != node.name:
        change.rename_column(old.name, node.name, action)
    name = node.name
    change.change_type(name, node.args["kind"], None, action)
    key = change.draft.columns[change.column_index(name, action)].physical in change.draft.key
    default: exp.Expr | None = None
    required = key
    for constraint in node.args.get("constraints") or []:
        match constraint.args["kind"]:
            case exp.NotNullColumnConstraint() as kind:
                required = key or not kind.args.get("allow_null")
            case exp.DefaultColumnConstraint() as kind:
                default = kind.this
            case exp.CommentColumnConstraint() as kind:
                change.set_comment(name, kind.this.name, action)
            case _:
                raise _unknown_action(constraint)
    change.set_default(name, default, action)
    change.set_not_null(name, required=required, node=action)


def _new_name(old: TableName, action: exp.AlterRename, context: RewriteContext) -> TableName:
    node = action.this
    if not isinstance(node, exp.Table):
        raise _unknown_action(action)
    wanted = TableName(node.db or old.schema, node.name or old.name)
    if context.catalog.is_own(old):
        name = new_temporary_name(node, context) if node.db else wanted
    else:
        name = resolve_schema(wanted, node, context)
    if name.key != old.key and context.catalog.get(name) is not None:
        raise already_exists(name, node)
    return name


def _plan(
    change: Alteration, old: Table, new: Table, context: RewriteContext, first: Sequence[Step]
) -> StatementPlan:
    reads = Reads(context)
    steps = [*first, *altering_steps(reads, change, old, new)]
    return reads.plan(StatementKind.DDL, steps, new, "ALTER TABLE")


def _unknown_action(action: exp.Expr) -> PalimpsestError:
    is_set = isinstance(action, exp.AlterSet)
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{'SET' if is_set else action.sql(dialect='duckdb')} is not supported in ALTER",
        advice="see docs/sql.md for the actions that are taken",
        position=position_of(action),
    )
