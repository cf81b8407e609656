"""CREATE, ALTER and DROP SEQUENCE: they change the catalog; numbers are counted elsewhere."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.number_source import LARGEST, TYPES
from journal.model.plan import (
    Change,
    PutRelation,
    StatementPlan,
    Step,
)
from journal.model.schema import Column, Sequence, Table, TableName
from journal.model.sequence_changes import DropSequence, PutSequence
from rewriter.context import RewriteContext
from rewriter.definitions.identity_changes import restarted_identity
from rewriter.definitions.new_relations import (
    check_schema_name,
    ddl_plan,
    new_definition_name,
    resolve_schema,
)
from rewriter.definitions.sequences import (
    find_sequence,
    identity_named,
    renamed_default,
    unknown_sequence,
    users_of,
)
from rewriter.name_resolution import (
    find_table,
    position_of,
    unknown_column,
)
from rewriter.statement import AlterSequence, CreateSequence, DropSequences, SequenceOptions


def rewrite_create_sequence(ast: CreateSequence, context: RewriteContext) -> StatementPlan:
    """CREATE SEQUENCE."""
    node = ast.name
    name = new_definition_name(node, context, temporary=ast.temporary)
    known = context.catalog.sequences.get(name.key)
    steps: list[Step] = []
    if known is not None and ast.exists:
        return ddl_plan([], "CREATE SEQUENCE")
    if known is not None and ast.replace:
        _check_unused([known.name], context, node)
        steps.append(Change(DropSequence(known.name)))
    elif known is not None or context.catalog.get(name) is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"{'sequence' if known else 'table'} {name} exists already",
            advice="use IF NOT EXISTS, or another name",
            position=position_of(node),
        )
    if "restart" in ast.options.said:
        raise _invalid("RESTART is for ALTER SEQUENCE", "write START WITH", node)
    empty = Sequence(context.new_table_id, name, "BIGINT", 1, 1, 1, LARGEST, 1)
    made = _defined(empty, ast.options, context, node, is_new=True)
    return ddl_plan([*steps, Change(PutSequence(made))], "CREATE SEQUENCE")


def rewrite_alter_sequence(ast: AlterSequence, context: RewriteContext) -> StatementPlan:
    """ALTER SEQUENCE."""
    found = find_sequence(ast.name, context)
    if found is None:
        numbered = identity_named(ast.name, context)
        if numbered is not None:
            return ddl_plan([_restart(numbered, ast, context)], "ALTER SEQUENCE")
        if ast.exists:
            return ddl_plan([], "ALTER SEQUENCE")
        raise unknown_sequence(ast.name, context)
    name = found.name
    if ast.new_name is not None:
        name = TableName(name.schema, ast.new_name.name)
    if ast.new_schema is not None:
        check_schema_name(ast.new_schema, ast.name)
        name = resolve_schema(TableName(ast.new_schema, name.name), ast.name, context)
    taken = context.catalog.sequences.get(name.key) or context.catalog.get(name)
    if name.key != found.name.key and taken is not None:
        raise PalimpsestError(
            Code.DUPLICATE_TABLE,
            f"{name} exists already",
            advice="use another name",
            position=position_of(ast.name),
        )
    made = _defined(replace(found, name=name), ast.options, context, ast.name)
    steps: list[Step] = [Change(PutSequence(made, found.name))]
    for table, _, _ in users_of([found.name], context) if name != found.name else []:
        columns = tuple(renamed_default(c, found.name, name) for c in table.columns)
        steps.append(Change(PutRelation(replace(table, columns=columns), table.name)))
    return ddl_plan(steps, "ALTER SEQUENCE")


def _restart(numbered: tuple[Table, Column], ast: AlterSequence, context: RewriteContext) -> Step:
    """RESTART of the sequence that an identity column has; nothing else of it can change."""
    table, column = numbered
    if ast.options.said != {"restart"}:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f'{ast.name.name} belongs to the identity column "{column.name}" of {table.name}, and'
            " only RESTART changes it",
            advice=f"write ALTER TABLE {table.name} ALTER COLUMN {column.name} SET ..",
            position=position_of(ast.name),
        )
    begun = restarted_identity(column, context.new_table_id, ast.options.restart)
    columns = tuple(begun if c == column else c for c in table.columns)
    return Change(PutRelation(replace(table, columns=columns), table.name))


def rewrite_drop_sequences(ast: DropSequences, context: RewriteContext) -> StatementPlan:
    """DROP SEQUENCE; with CASCADE the defaults that use it go as well."""
    names: list[TableName] = []
    for node in ast.names:
        found = find_sequence(node, context)
        if found is not None:
            names.append(found.name)
        elif not ast.exists:
            raise unknown_sequence(node, context)
    if not ast.cascade:
        _check_unused(names, context, ast.names[0])
    steps = [*without_defaults(names, context), *(Change(DropSequence(n)) for n in names)]
    return ddl_plan(list(steps), "DROP SEQUENCE")


def without_defaults(names: list[TableName], context: RewriteContext) -> list[Step]:
    """Steps that take away the defaults of columns that take numbers of sequences."""
    tables: dict[int, Table] = {}
    for table, column, _ in users_of(names, context):
        known = tables.get(table.id, table)
        columns = tuple(replace(c, default=None) if c == column else c for c in known.columns)
        tables[table.id] = replace(known, columns=columns)
    return [Change(PutRelation(table, table.name)) for table in tables.values()]


def _check_unused(names: list[TableName], context: RewriteContext, node: exp.Expr) -> None:
    for table, column, name in users_of(names, context):
        raise PalimpsestError(
            Code.DEPENDENT_OBJECTS,
            f'the default of column "{column.name}" of {table.name} uses sequence {name}',
            advice="drop that default first, or use CASCADE, which drops it",
            position=position_of(node),
        )


def _defined(
    before: Sequence,
    options: SequenceOptions,
    context: RewriteContext,
    node: exp.Expr,
    *,
    is_new: bool = False,
) -> Sequence:
    """A sequence as the options say; raises SETTING_VALUE where they contradict one another."""
    said = options.said
    kind = options.type or before.type
    increment = before.increment if options.increment is None else options.increment
    if increment == 0:
        raise _invalid("INCREMENT must not be zero", "write 1 or -1", node)
    largest = TYPES[kind]
    lowest, highest = (1, largest) if increment > 0 else (-largest - 1, -1)
    fresh = is_new or ("type" in said and kind != before.type)
    minimum = lowest if fresh or "minimum" in said else before.minimum
    maximum = highest if fresh or "maximum" in said else before.maximum
    minimum = minimum if options.minimum is None else options.minimum
    maximum = maximum if options.maximum is None else options.maximum
    first = minimum if increment > 0 else maximum
    start = options.start if options.start is not None else first if is_new else before.start
    cache = before.cache if options.cache is None else options.cache
    _check_bounds(kind, minimum, maximum, start, cache, node)
    counter, begin = before.counter, start if is_new else before.begin
    if "restart" in said:
        counter, begin = context.new_table_id, start if options.restart is None else options.restart
        if not minimum <= begin <= maximum:
            raise _invalid(
                f"RESTART value ({begin}) must lie between {minimum} and {maximum}",
                "give another value, or other bounds",
                node,
            )
    owner = before.owner if "owner" not in said else _owner(options.owner, context)
    cycles = options.cycles if "cycles" in said else before.cycles
    return Sequence(
        *(before.id, before.name, kind, start, increment, minimum, maximum, begin),
        cycles=cycles,
        cache=cache,
        owner=owner,
        counter=counter,
    )


def _check_bounds(
    kind: str, minimum: int, maximum: int, start: int, cache: int, node: exp.Expr
) -> None:
    largest = TYPES[kind]
    for word, value in (("MINVALUE", minimum), ("MAXVALUE", maximum)):
        if not -largest - 1 <= value <= largest:
            raise _invalid(f"{word} ({value}) is out of range for {kind}", "use BIGINT", node)
    if minimum >= maximum:
        raise _invalid(
            f"MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})", "swap them", node
        )
    if not minimum <= start <= maximum:
        word, bound = ("less", f"MINVALUE ({minimum})")
        if start > maximum:
            word, bound = ("greater", f"MAXVALUE ({maximum})")
        raise _invalid(f"START value ({start}) cannot be {word} than {bound}", "change one", node)
    if cache < 1:
        raise _invalid(f"CACHE ({cache}) must be greater than zero", "write 1", node)


def _owner(column: exp.Column | None, context: RewriteContext) -> tuple[int, str] | None:
    if column is None:
        return None
    table = find_table(exp.Table(this=column.args["table"], db=column.args.get("db")), context)
    found = table.find(column.name)
    if found is None:
        raise unknown_column(column.name, table, column)
    return table.id, found.physical


def _invalid(message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(Code.SETTING_VALUE, message, advice=advice, position=position_of(node))
