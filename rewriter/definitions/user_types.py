"""Replaces names of user-defined types by their definitions.

A column keeps what it was declared as beside what that stood for, so that a type that changes
changes the columns declared with it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches

from sqlglot import exp
from sqlglot.errors import ParseError

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import DOMAIN, UserType
from journal.model.schema import Check, Column, Table, TableName, fold
from journal.model.trees import copy_tree
from journal.sql import dialects
from journal.sql.relations import ident
from journal.sql.sql import cast
from journal.sql.text_lengths import text_length
from rewriter.context import RewriteContext
from rewriter.name_resolution import position_of

DECLARED, OF_DOMAIN = "declared", "domain"
"""Marks on a type's node: how it was written, with schemas; the domain that it is."""
DOMAIN_VALUE = "value"
"""What a domain's checks call the value they are about."""
_TYPE_OPTIONS = frozenset({"columns", "types", "dtypes", "column_types"})
_REPEATABLE = (
    *(exp.Literal, exp.Column, exp.Identifier, exp.Placeholder, exp.Parameter, exp.Paren, exp.Cast),
    *(exp.DataType, exp.DataTypeParam, exp.Neg, exp.Null, exp.Boolean, exp.Binary, exp.TryCast),
)


def expand_types(tree: exp.Expr, context: RewriteContext) -> None:
    """Put what types of users stand for in the place of their names, in place.

    Raises NOT_SUPPORTED for a cast to a domain with checks that cannot be checked here. Names of
    no known type stay: the store may know them.
    """
    if not context.catalog.definitions:
        return
    _expand_texts(tree, context)
    named = [n for n in tree.find_all(exp.DataType) if n.this is exp.DType.USERDEFINED]
    for node in named:
        found = find_type(node, context)
        # What ends with a session is no declaration of what may last longer.
        if found is not None and not context.catalog.is_own(found.name):
            whole = _outer_type(node)
            if DECLARED not in whole.meta:
                name_types(whole, context)
                whole.meta[DECLARED] = whole.sql(dialect="duckdb")
    for node in named:
        _expand(node, context)
    for domain_cast in list(tree.find_all(exp.Cast)):
        kind = domain_cast.args["to"]
        found = kind.meta.get(OF_DOMAIN)
        if isinstance(found, UserType) and (found.checks or found.not_null):
            kind.meta.pop(OF_DOMAIN)
            domain_cast.replace(_checked(domain_cast, found, context))


def _expand_texts(tree: exp.Expr, context: RewriteContext) -> None:
    """Put what types stand for in the place of their names in options of what reads files."""
    for option in tree.find_all(exp.EQ, exp.PropertyEQ, exp.Kwarg):
        listed = option.args.get("expression")
        if option.this.name.lower() not in _TYPE_OPTIONS or not isinstance(option.parent, exp.Func):
            continue
        if isinstance(listed, exp.Struct | exp.Array):
            for text in list(listed.find_all(exp.Literal)):
                with suppress(ParseError):
                    kind, declared = expanded_text(declared_type(text.name), context)
                    if declared is not None:
                        text.replace(exp.Literal.string(kind))


def name_types(tree: exp.Expr, context: RewriteContext) -> None:
    """Put the schema on every name of a type, for text that is kept."""
    for node in tree.find_all(exp.DataType):
        found = find_type(node, context) if node.this is exp.DType.USERDEFINED else None
        if found is not None:
            node.set("kind", quoted_name(found.name))


def quoted_name(name: TableName) -> str:
    """A name with its schema, as text."""
    return ".".join(ident(part).sql(dialect="duckdb") for part in (name.schema, name.name))


def find_type(node: exp.DataType, context: RewriteContext) -> UserType | None:
    """The type of a user's that a type's node names; without a schema a temporary one first."""
    return _look_up(_parts(node), context)


def named_type(node: exp.Table, context: RewriteContext) -> UserType | None:
    """The type that a name means in a statement about types."""
    return _look_up([part.name for part in node.parts], context)


def unknown_type(node: exp.Table, context: RewriteContext) -> PalimpsestError:
    """The error for a name that is no type."""
    names = [t.name.name for t in context.catalog.user_types()]
    close = get_close_matches(node.name, names, n=3)
    advice = f"did you mean {' or '.join(close)}?" if close else f"CREATE TYPE {node.name} AS .."
    return PalimpsestError(
        Code.UNKNOWN_TYPE,
        f"type {node.name} does not exist",
        advice=advice,
        position=position_of(node),
    )


def expanded_text(kind: exp.DataType, context: RewriteContext) -> tuple[str, str | None]:
    """A type as canonical text, and how it was declared if that names types of users."""
    holder = exp.Paren(this=copy_tree(kind))
    name_types(holder, context)
    declared = holder.this.sql(dialect="duckdb")
    expand_types(holder, context)
    text = holder.this.sql(dialect="duckdb")
    return text, declared if declared != text else None


def labels_of(kind: str) -> list[str]:
    """The values of an enum, in their order."""
    found = exp.DataType.build(kind, dialect="duckdb")
    return [label.name for label in found.expressions]


def enum_text(labels: Iterable[str]) -> str:
    """An enum of these values, as canonical text."""
    values = [exp.Literal.string(label) for label in labels]
    return str(exp.DataType(this=exp.DType.ENUM, expressions=values).sql(dialect="duckdb"))


def declared_type(declared: str) -> exp.DataType:
    """A type as it was declared, which may name types of users."""
    found = dialects.stored(f"CAST(NULL AS {declared})").args["to"]
    assert isinstance(found, exp.DataType)
    return found


@dataclass(frozen=True, slots=True)
class TypeUse:
    """A column that was declared with a type."""

    table: Table
    column: Column


def uses_of(names: Iterable[TableName], context: RewriteContext) -> Iterator[TypeUse]:
    """The columns that were declared with one of some types."""
    wanted = {name.key for name in names}
    for table in context.catalog.tables():
        for column in table.columns:
            if column.declared is not None and wanted & set(_named_in(column.declared)):
                yield TypeUse(table, column)


def types_over(names: Iterable[TableName], context: RewriteContext) -> list[UserType]:
    """The types that were declared with one of some types."""
    wanted = {name.key for name in names}
    return [
        found
        for found in context.catalog.user_types()
        if found.declared is not None and wanted & set(_named_in(found.declared))
    ]


def domain_checks(
    found: UserType, table: TableName, column: str
) -> list[tuple[exp.Expr, str | None]]:
    """Conditions and names of the checks that a column of a table has from its domain."""
    value = exp.Column(this=ident(column))
    return [
        (_over_value(text, value), domain_check_name(table, column, name))
        for name, text in found.checks
    ]


def domain_check_name(table: TableName, column: str, name: str) -> str:
    """What a check of a domain is called where a column of a table has it."""
    return f"{table.name}_{column}_{name}"


def check_condition(condition: exp.Expr, node: exp.Expr) -> None:
    """Raise INVALID_DEFINITION for a check of a domain that is about anything but VALUE."""
    for part in condition.find_all(exp.Column, exp.Query, exp.Placeholder, exp.AggFunc):
        if isinstance(part, exp.Column) and fold(part.sql()) == DOMAIN_VALUE:
            continue
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"the CHECK of a domain cannot contain {part.sql(dialect='duckdb')}",
            advice="write a condition over VALUE",
            position=position_of(part) or position_of(node),
        )


def _over_value(text: str, value: exp.Expr) -> exp.Expr:
    holder = exp.Paren(this=dialects.stored(text))
    for used in list(holder.find_all(exp.Column)):
        used.replace(copy_tree(value))
    condition: exp.Expr = holder.this
    return condition


def _expand(node: exp.DataType, context: RewriteContext) -> None:
    found = find_type(node, context)
    if found is None:
        return
    made = exp.DataType.build(found.type, dialect="duckdb")
    is_inner = _outer_type(node) is not node
    if found.kind == DOMAIN and is_inner and (found.checks or found.not_null):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the domain {found.name} has constraints, which are not checked inside of a value",
            advice="use its type, and a CHECK of the table",
            position=position_of(node),
        )
    node.set("this", made.this)
    node.set("expressions", made.expressions)
    node.set("nested", made.args.get("nested"))
    node.set("values", made.args.get("values"))
    node.set("kind", None)
    if found.kind == DOMAIN:
        node.meta[OF_DOMAIN] = found


def _checked(node: exp.Cast, found: UserType, context: RewriteContext) -> exp.Expr:
    """A cast to a domain that fails on what the domain's constraints refuse."""
    odd = next((p for p in node.this.walk() if not isinstance(p, _REPEATABLE)), None)
    if odd is not None or not context.capabilities.raises_in_sql or isinstance(node, exp.TryCast):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a cast to the domain {found.name} is not supported here: it has constraints",
            advice="cast a column or a constant, or cast to its type and write the condition out",
            position=position_of(node),
        )
    value: exp.Expr = cast(node.this, found.type)
    for most in _lengths(found).values():
        # A cast that is written out cuts a text, as that to VARCHAR(n) does.
        value = exp.Left(this=value, expression=exp.Literal.number(most))
    branches: list[exp.Expr] = []
    if found.not_null:
        is_null = exp.Is(this=copy_tree(value), expression=exp.Null())
        branches.append(_failing(is_null, f"domain {found.name} does not allow NULL", found))
    for name, text in found.checks:
        if name in _lengths(found):
            continue
        refused = exp.Not(this=exp.paren(_over_value(text, value)))
        why = f'value for domain {found.name} violates check constraint "{name}"'
        branches.append(_failing(refused, why, found))
    return exp.paren(exp.Case(ifs=branches, default=value) if branches else value)


def _lengths(found: UserType) -> dict[str, int]:
    """How long the texts of a domain may be, by the names of the checks that say so."""
    kept = {name: text_length(Check(name, text)) for name, text in found.checks}
    return {name: length.most for name, length in kept.items() if length is not None}


def _failing(condition: exp.Expr, message: str, found: UserType) -> exp.If:
    text = exp.Literal.string(message)
    # A text is cast to any type; what the call itself gives is not, in every store.
    error = cast(exp.Anonymous(this="error", expressions=[text]), "VARCHAR")
    return exp.If(this=condition, true=cast(error, found.type))


def _outer_type(node: exp.DataType) -> exp.DataType:
    """The type that a type is a part of, or that type itself."""
    parent = node.parent
    inner = parent.parent if isinstance(parent, exp.ColumnDef) else parent
    return _outer_type(inner) if isinstance(inner, exp.DataType) else node


def _look_up(parts: list[str], context: RewriteContext) -> UserType | None:
    known, own = context.catalog.definitions, context.catalog.own
    if len(parts) > 1:
        schemas = [own if own is not None and fold(parts[-2]) == "temp" else parts[-2]]
    else:
        schemas = [*([own] if own is not None else []), *context.path, context.default_schema]
    for schema in schemas:
        found = known.get(("type", fold(schema), fold(parts[-1])))
        if isinstance(found, UserType):
            return found
    return None


def _parts(node: exp.DataType) -> list[str]:
    kind = node.args.get("kind")
    if isinstance(kind, exp.Dot):
        # Not its parts, which leave out the first of two names.
        return [part.name for part in kind.find_all(exp.Identifier, bfs=False)]
    if isinstance(kind, exp.Expr):
        return [kind.name]
    return _split(str(kind or ""))


def _split(text: str) -> list[str]:
    """The parts of a name, which may stand in quotes."""
    parts, quoted = [""], False
    for letter in text:
        if letter == '"':
            quoted = not quoted
        elif letter == "." and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _named_in(declared: str) -> Iterator[tuple[str, str]]:
    for node in declared_type(declared).find_all(exp.DataType):
        parts = _parts(node) if node.this is exp.DType.USERDEFINED else []
        if len(parts) > 1:
            yield fold(parts[-2]), fold(parts[-1])


def check_types_known(kind: exp.DataType, context: RewriteContext) -> None:
    """Raise UNKNOWN_TYPE for the name of a type, within another, that nobody has."""
    for node in kind.find_all(exp.DataType):
        if node.this is exp.DType.USERDEFINED and find_type(node, context) is None:
            named = exp.to_table(node.sql(dialect="postgres"), dialect="postgres")
            raise unknown_type(named, context)


def type_to_change(node: exp.Table, is_domain: bool, context: RewriteContext) -> UserType:
    """A type, or a domain, of this name; raises what says that there is none, or the other."""
    found = named_type(node, context)
    if found is None:
        raise unknown_type(node, context)
    if (found.kind == DOMAIN) != is_domain:
        word = "domain" if found.kind == DOMAIN else "type"
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{found.name} is a {word}",
            advice=f"use the statement for a {word.upper()}",
            position=position_of(node),
        )
    return found
