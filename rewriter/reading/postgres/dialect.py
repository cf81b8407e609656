"""A statement of PostgreSQL's dialect in words of the store. Pure.

What differs is found by kinds of nodes; a statement without any is given back as it is. A result
column keeps the name that PostgreSQL gives it, that of the function.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.trees import copy_tree, with_changed_trees
from journal.sql.builders import call
from journal.sql.relations import ident
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import DIALECTS
from rewriter.functions import function_name
from rewriter.reading import joined_stars
from rewriter.reading.network.addresses import with_addresses, with_networks_named
from rewriter.reading.postgres import (
    assigned,
    calls,
    collations,
    comparisons,
    degrees,
    domains,
    formats,
    moments,
    numbers,
    operators,
    result_types,
    rows,
    similar,
)
from rewriter.reading.postgres.aggregates import (
    UNDEFINED,
    is_own_sum,
    is_supposed_rank,
    joins_by_column,
    spell_joined_by_column,
    spell_sum,
    spell_supposed_rank,
    spell_undefined,
)
from rewriter.reading.postgres.blanks import compare_without_blanks, compares_blanks
from rewriter.reading.postgres.calls import arguments_of
from rewriter.reading.postgres.capitals import check_capitals
from rewriter.reading.postgres.cast_rules import check_casts
from rewriter.reading.postgres.definitions import DEFINING, marked_definition
from rewriter.reading.postgres.distinct import check_distinct_rows, makes_rows_late
from rewriter.reading.postgres.doubled import check_doubled
from rewriter.reading.postgres.function_calls import with_typed_arguments
from rewriter.reading.postgres.grouping import add_determined_columns, determined_columns
from rewriter.reading.postgres.json import (
    json,
    json_keys,
    json_paths,
    jsonb,
    jsonb_calls,
    jsonb_equality,
    jsonb_written,
)
from rewriter.reading.postgres.json.json_values import JSON_AGGREGATES, makes_json, spell_members
from rewriter.reading.postgres.json.path.calls import takes_path
from rewriter.reading.postgres.lengths import concerns_lengths, keep_lengths
from rewriter.reading.postgres.recursion import check_recursion
from rewriter.reading.postgres.row_operands import with_row_operands
from rewriter.reading.postgres.sources import (
    SOURCE_FUNCTIONS,
    is_numeric_series,
    is_postgres_source,
    is_unnamed_series,
    name_series,
    number_elements,
    spell_source,
)
from rewriter.reading.postgres.typed import NATIVE, TYPED, TYPED_CALLS
from rewriter.reading.postgres.whole_rows import check_whole_rows
from rewriter.reading.row_conditions import WITH_SQL, with_changed_parts
from rewriter.reading.value_types import KIND, ValueTypes
from rewriter.statement import Explain, Restore, SqlStatement, Statement
from rewriter.syntax.postgres_names import postgres_name

_CALLS = {
    **calls.CALLS,
    **moments.CALLS,
    **json.CALLS,
    **dict.fromkeys(degrees.NAMES, degrees.spell_degrees),
    **dict.fromkeys(("json_build_object", "jsonb_build_object"), jsonb_calls.spell_built),
    **dict.fromkeys(("json_object", "jsonb_object"), jsonb_calls.spell_object),
    "jsonb_set_lax": jsonb_calls.spell_lax_set,
    "jsonb_delete_path": json_paths.spell_delete,
    "jsonb_set": json_paths.spell_set,
    "jsonb_insert": json_paths.spell_insert,
}
_BY_KIND = {
    **calls.KINDS,
    **moments.KINDS,
    **json.KINDS,
    **dict.fromkeys(domains.KINDS, domains.spell_guarded),
    exp.JSONBDeleteAtPath: json_paths.spell_delete,
    exp.ToNumber: formats.spell_to_number,
    exp.SimilarTo: similar.spell_similar,
}
_KINDS: tuple[type[exp.Expr], ...] = (
    *numbers.KINDS,
    *operators.KINDS,
    *jsonb.KINDS,
    *rows.KINDS,
    *collations.KINDS,
    *json_keys.KINDS,
    *(exp.Anonymous, exp.WithinGroup, exp.Sum, exp.Select, exp.Escape, exp.SetOperation),
    *UNDEFINED,
    *TYPED,
    *_BY_KIND,
)
_EVERYWHERE: tuple[type[exp.Expr], ...] = (
    *(exp.Table, exp.Lateral, exp.Group, exp.JSONPath),
    *(exp.ColumnDef, exp.AlterColumn),
    *(exp.ToNumber, exp.Cast, exp.Round, exp.Anonymous),
    *NATIVE,
    *JSON_AGGREGATES,
    *json.JSONB_OPERATORS,
    *json_keys.KINDS,
)
"""What is spelled otherwise on PostgreSQL as well, which reads journals in the place of tables."""
POSTGRES_FUNCTIONS = frozenset(_CALLS) | frozenset(TYPED_CALLS) | SOURCE_FUNCTIONS
"""The names of all functions that are spelled in words of the store."""


def in_words_of_the_store(statement: Statement, context: RewriteContext) -> Statement:
    """The statement as the store says it; the same if there is nothing to say otherwise.

    Raises NOT_SUPPORTED and OUT_OF_RANGE for what the store has no words for.
    """
    statement = with_networks_named(statement, context)
    if DIALECTS.get(context.dialect) == "postgres" and isinstance(statement, WITH_SQL):
        statement = _in_own_words(statement, context)
    return with_addresses(statement, context)


def _in_own_words(statement: Statement, context: RewriteContext) -> Statement:
    """What PostgreSQL's dialect says in other words than the store."""
    found = with_changed_parts(
        statement, lambda tree: _changed(with_typed_arguments(tree, context), context)
    )
    keeps = not isinstance(statement, SqlStatement | Explain | Restore)
    defines = keeps or isinstance(getattr(statement, "ast", None), DEFINING)
    if not defines or not context.capabilities.postgres_functions:
        return found
    return with_changed_trees(found, lambda tree: marked_definition(tree, is_whole=keeps))


def _changed(value: exp.Expr, context: RewriteContext) -> exp.Expr:
    is_postgres = context.capabilities.postgres_functions
    kinds = _EVERYWHERE if is_postgres else (*_EVERYWHERE, *_KINDS)
    value = with_row_operands(value, context)
    types = ValueTypes(context)
    check_whole_rows(value, context)
    check_capitals(value)
    if not is_postgres:
        comparisons.check_comparisons(value, types)
        check_casts(value, types)
        check_recursion(value)
        check_doubled(value, context)
    equates = any(
        jsonb_equality.equates_jsonb(node, types) for node in value.find_all(*jsonb_equality.KINDS)
    )
    writes = jsonb_written.writes_jsonb(value, types)
    selects = assigned.changes_assigned(value, types)
    blanks = compares_blanks(value, types)
    casts = result_types.concerns_results(value, types)
    if not (equates or writes or selects or casts or blanks) and not any(
        _concerns(node, context) for node in value.find_all(*kinds)
    ):
        return value
    holder = exp.Paren(this=copy_tree(value))
    if casts:
        result_types.cast_results(holder.this, types)
    if blanks:
        compare_without_blanks(holder, types)
    if selects:
        assigned.change_assigned(holder, types)
    if writes:
        jsonb_written.spell_constants(holder, types)
    if equates and not is_postgres:
        jsonb_equality.equate_jsonb(holder, types)
    for node in reversed(list(holder.find_all(*_EVERYWHERE))):
        if isinstance(node, exp.Group):
            add_determined_columns(node, context)
        elif isinstance(node, exp.JSONPath):
            if json_keys.is_pointed(node):
                json_keys.spell_pointed(node, native=is_postgres)
        elif concerns_lengths(node):
            keep_lengths(node, context)
        elif moments.is_part_call(node):
            kind = types.of(node.expressions[1]).kind
            _put(node, "date_part", moments.extracted_part(node, kind), types)
        elif not is_postgres and moments.is_computed_part(node):
            made = exp.cast(node.copy(), "DOUBLE", dialect="duckdb")
            _put(node, "date_part", made, types)
        elif is_unnamed_series(node) and (is_postgres or not is_numeric_series(node, types)):
            name_series(node)
        elif is_postgres_source(node) or (not is_postgres and is_numeric_series(node, types)):
            spell_source(node, context)
    if is_postgres:
        if equates or holder.find(exp.Group) is not None:
            # Also of columns that only the key determines.
            jsonb_equality.equate_jsonb(holder, types)
        _keep_native(holder, context)
    else:
        _spell(holder, context)
        number_elements(holder)
    return holder.this  # type: ignore[no-any-return]


def _concerns(node: exp.Expr, context: RewriteContext) -> bool:
    if takes_path(node):
        return True
    typed = NATIVE if context.capabilities.postgres_functions else TYPED
    if type(node) in typed and typed[type(node)](node, ValueTypes(context)) is not None:
        return True
    if isinstance(node, exp.JSONPath):
        return json_keys.is_pointed(node)
    if isinstance(node, exp.GroupConcat):
        return joins_by_column(node)
    if isinstance(node, json_keys.KINDS):
        return json_keys.reads_key(node, ValueTypes(context))
    if isinstance(node, exp.Group):
        return next(determined_columns(node, context), None) is not None
    if is_postgres_source(node) or is_unnamed_series(node) or concerns_lengths(node):
        return True
    if is_numeric_series(node, ValueTypes(context)):
        return not context.capabilities.postgres_functions
    if operators.compares_array_text(node):
        return True
    if isinstance(node, exp.Anonymous):
        if moments.is_part_call(node):
            return True
        name = function_name(node)
        is_native = context.capabilities.postgres_functions and name.startswith("jsonb_")
        return is_native or name in _CALLS
    if isinstance(node, exp.ArrayContainsAll | exp.ArrayContainedBy | exp.Sub):
        is_native = context.capabilities.postgres_functions
        return is_native or jsonb.concerns_jsonb(node, ValueTypes(context))
    if isinstance(node, exp.Select):
        if any(json.makes_pairs(output) for output in node.expressions):
            return True
        return joined_stars.moves_columns(node, context) or makes_rows_late(node)
    if isinstance(node, exp.SetOperation):
        return comparisons.mixes_constants(node, ValueTypes(context))
    if isinstance(node, exp.WithinGroup):
        return is_supposed_rank(node)
    if isinstance(node, operators.JOINING):
        return bool(operators.parts_of_own_text(node, ValueTypes(context)))
    if isinstance(node, collations.KINDS):
        return collations.concerns_collations(node)
    if isinstance(node, exp.Sum):
        return is_own_sum(node, ValueTypes(context))
    if isinstance(node, exp.Escape):
        return similar.is_similar_with_escape(node)
    if isinstance(node, UNDEFINED):
        return not context.capabilities.postgres_functions
    if type(node) in _BY_KIND:
        return True
    if isinstance(node, rows.KINDS):
        return rows.concerns_rows(node)
    if isinstance(node, numbers.KINDS) and not _is_text(node):
        return numbers.concerns_numbers(node)
    return operators.concerns_operators(node)


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _keep_native(holder: exp.Paren, context: RewriteContext) -> None:
    """What PostgreSQL has itself, and its adapter would give the meaning that DuckDB gives it."""
    types = ValueTypes(context)
    for node in reversed(list(holder.find_all(*_EVERYWHERE))):
        if makes_json(node):
            spell_members(node, types)
        native = NATIVE[type(node)](node, types) if type(node) in NATIVE else None
        if native is not None:
            _spell_typed(node, native, types)
        elif isinstance(node, exp.ToNumber):
            made = call("to_number", node.this, node.args.get("format"))
            _put(node, "to_number", made, types)
        elif isinstance(node, json_keys.KINDS):
            if json_keys.reads_key(node, types):
                json_keys.cast_key(node, types)
        elif isinstance(node, (*json.JSONB_OPERATORS, exp.Anonymous)):
            json.cast_to_jsonb(node, types)
        elif operators.concerns_operators(node):
            operators.spell_operator(node, types)


def _spell(holder: exp.Paren, context: RewriteContext) -> None:
    """Change the tree in a holder, inner nodes first."""
    types = ValueTypes(context)
    for select in list(holder.find_all(exp.Select)):
        json.name_pairs(select)
    for operation in list(holder.find_all(exp.SetOperation)):
        comparisons.type_constants(operation, types)
    for escape in list(holder.find_all(exp.Escape)):
        if similar.is_similar_with_escape(escape):
            similar.spell_similar_with_escape(escape)
    for node in reversed(list(holder.find_all(*_KINDS))):
        if isinstance(node, exp.SetOperation) or not _concerns(node, context):
            continue
        if joins_by_column(node):
            spell_joined_by_column(node, types)
            continue
        made = TYPED[type(node)](node, types) if type(node) in TYPED else None
        if made is not None:
            _spell_typed(node, made, types)
        elif isinstance(node, json_keys.KINDS):
            _put(node, "?column?", json_keys.spell_key(node, types), types)
        elif isinstance(node, UNDEFINED):
            spell_undefined(node)
        elif isinstance(node, collations.KINDS):
            collations.spell_collation(node)
        elif operators.compares_array_text(node):
            operators.spell_operator(node, types)
        elif isinstance(node, exp.Select):
            check_distinct_rows(node)
            joined_stars.put_joined_first(node, context)
        elif isinstance(node, exp.WithinGroup):
            spell_supposed_rank(node)
        elif isinstance(node, exp.Sum):
            spell_sum(node, types)
        elif isinstance(node, exp.Anonymous) or type(node) in _BY_KIND:
            if isinstance(node, exp.Format):
                operators.spell_texts(node.expressions, types)
            if makes_json(node):
                spell_members(node, types)
            _spell_call(node, types)
        elif isinstance(node, rows.KINDS):
            rows.spell_rows(node)
        elif isinstance(node, numbers.KINDS) and not _is_text(node):
            numbers.spell_number(node, types)
        elif isinstance(node, jsonb.KINDS) and jsonb.concerns_jsonb(node, types):
            jsonb.spell_jsonb(node, types)
        else:
            operators.spell_operator(node, types)


def _spell_typed(node: exp.Expr, made: exp.Expr, types: ValueTypes) -> None:
    _put(node, postgres_name(node) or "?column?", made, types)


def _spell_call(node: exp.Expr, types: ValueTypes) -> None:
    name = function_name(node) if isinstance(node, exp.Anonymous) else ""
    spell = _CALLS[name] if name else _BY_KIND[type(node)]
    made = spell(node, arguments_of(node))
    if made is not None:
        _put(node, name or _NAMES.get(type(node), node.key), made, types)


def _put(call: exp.Expr, name: str, made: exp.Expr, types: ValueTypes) -> None:
    """Put something in the place of a call, as an output of the name that PostgreSQL gives it.

    It keeps the type of the call, by which others around it may go.
    """
    made.meta.setdefault(KIND, types.of(call).kind)
    if isinstance(call.parent, exp.Select) and call.arg_key == "expressions":
        made = exp.Alias(this=made, alias=ident(name))
    call.replace(made)


_NAMES: dict[type[exp.Expr], str] = {
    exp.ArrayRemove: "array_remove",
    exp.ArraySize: "array_length",
    exp.StringToArray: "string_to_array",
    exp.SimilarTo: "?column?",
    exp.TimestampFromParts: "make_timestamp",
    exp.ToNumber: "to_number",
    exp.WidthBucket: "width_bucket",
    exp.JSONArrayAgg: "json_agg",
    exp.JSONObjectAgg: "json_object_agg",
    exp.JSONBObjectAgg: "jsonb_object_agg",
    exp.JustifyDays: "justify_days",
    exp.JustifyHours: "justify_hours",
    exp.JustifyInterval: "justify_interval",
    exp.Overlaps: "overlaps",
    exp.JSONBExtract: "?column?",
    exp.JSONBExtractScalar: "?column?",
    exp.JSONBDeleteAtPath: "?column?",
    exp.JSONBExists: "jsonb_exists",
    exp.JSONBContainsTopKey: "?column?",
    exp.JSONBContainsAnyTopKeys: "?column?",
    exp.JSONBContainsAllTopKeys: "?column?",
}
"""What PostgreSQL calls the column of a call, where the node is called otherwise."""
