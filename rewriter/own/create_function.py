"""PostgreSQL's CREATE FUNCTION in the language SQL, which becomes a macro.

CREATE FUNCTION next_of(n int) RETURNS int LANGUAGE sql AS $$ SELECT min(id) FROM t WHERE id > n $$
next_of(3)      (SELECT CAST(MIN(id) AS INT) FROM main.t WHERE id > CAST(3 AS INT))

The body is one query. A name in it is a column where the query has one of that name, else a
parameter; ``f.n`` and ``$1`` are parameters. Arguments and results are cast to their types.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import Macro, MacroBody, definition_key
from journal.model.plan import USER_PARAMETER, StatementPlan
from journal.model.schema import Column, fold
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import ident
from journal.sql.sql import cast
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.macros import expand_macros
from rewriter.definitions.new_relations import ddl_plan, new_definition_name
from rewriter.definitions.routines import known_routine
from rewriter.definitions.sequences import without_calls
from rewriter.definitions.user_types import expand_types, find_type, unknown_type
from rewriter.dialect_semantics import DIALECTS
from rewriter.functions import check_functions, is_aggregate, is_function_of_sql
from rewriter.limits import DEFAULT_LIMITS
from rewriter.name_resolution import find_relation, homeless_column, position_of, table_name
from rewriter.reading.qualified_names import qualify
from rewriter.reading.read_rewriter import Reads
from rewriter.reading.scopes import is_named
from rewriter.reading.visible_columns import (
    ctes_in_reach,
    enclosing_statements,
    names_of_source,
    relations_of,
)
from rewriter.statement import SqlStatement
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax import parsing
from rewriter.syntax.statements.function_forms import (
    FunctionForm,
    FunctionResult,
    is_in_sql,
    read_function,
)
from rewriter.syntax.token_reader import Parse, TokenReader
from rewriter.writing.views_of_macros import put_macro

_TAG = "CREATE FUNCTION"
_MAYBE = "?"
"""Begins the name of what may be a parameter, until the columns in reach are known."""
_ROWS, _INNER = "_rows", "_inner"


@dataclass(frozen=True, slots=True)
class CreateFunction(OwnStatement):
    """CREATE FUNCTION .. LANGUAGE sql.

    ``query`` is what a call stands for, with casts of its parameters; ``kinds`` are casts of NULL
    to their types, and ``result`` one to the type of the function.
    """

    name: exp.Table
    parameters: tuple[tuple[str, exp.Expr | None], ...]
    kinds: tuple[exp.Expr, ...]
    query: exp.Expr
    result: exp.Expr | None
    is_rows: bool
    replace: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> CreateFunction | None:
        """The statement, or None where something else is made, or in another language."""
        reader = TokenReader(tokens, parse, 1, "docs/definitions.md has its form")
        replaces = reader.takes("OR", "REPLACE")
        if not reader.takes("FUNCTION") or not is_in_sql(tokens):
            return None
        name = reader.name()
        if not reader.takes("("):
            return None
        form = read_function(reader)
        result = form.result
        return cls(
            name=name,
            parameters=form.parameters,
            kinds=tuple(_null_of(kind) for kind in form.types),
            query=_meaning(form, name),
            result=None if result.names else _null_of(result.types[0]),
            is_rows=result.is_rows,
            replace=replaces,
        )

    def check(self, access: StatementAccess) -> None:
        """Whoever may make relations in its schema may make one, and its owner may replace it."""
        access.owners.may_create(self.name, is_temporary=False)
        if self.replace:
            access.owners.owned_schema(self.name)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Put the macro into the catalog; a function with other parameters is one more form."""
        node = self.name
        if DIALECTS.get(context.dialect) != "postgres":
            raise _refused(
                node,
                "CREATE FUNCTION .. LANGUAGE sql is PostgreSQL's",
                "use the postgres dialect, or CREATE MACRO f(a) AS expression | TABLE query",
            )
        name = new_definition_name(node, context, temporary=False)
        if is_function_of_sql(node.name, context.dialect):
            raise _refused(
                node, f"{node.name} is a function of SQL, which no other can hide", "rename it"
            )
        body = self._body(context)
        made = Macro(name, self.is_rows, (body,))
        known = context.catalog.definitions.get(definition_key(made))
        if context.catalog.definitions.get(definition_key(Macro(name, not self.is_rows, ()))):
            raise self._exists(name.name)
        if known_routine(name, context.catalog) is not None:
            raise self._exists(name.name)
        if isinstance(known, Macro):
            others = tuple(b for b in known.bodies if len(b.parameters) != len(body.parameters))
            if len(others) < len(known.bodies):
                self._check_replaces(known, body)
            made = Macro(name, self.is_rows, (*others, body), known.comment)
        return ddl_plan(put_macro(made, known, node, context), _TAG)

    def _check_replaces(self, known: Macro, body: MacroBody) -> None:
        """Raise unless a form of so many parameters gives way to this one."""
        old = next(b for b in known.bodies if len(b.parameters) == len(body.parameters))
        if old.types != body.types:
            raise _refused(
                self.name,
                f"functions {self.name.name} cannot differ by the types of their parameters alone",
                "give it another name, or another number of parameters",
            )
        if not self.replace:
            raise self._exists(self.name.name)
        is_same = [n for n, _ in old.parameters] == [n for n, _ in body.parameters]
        if not is_same or old.returns != body.returns:
            what = "return type of the" if is_same else "names of the parameters of an"
            raise PalimpsestError(
                Code.INVALID_FUNCTION,
                f"cannot change the {what} existing function",
                advice=f"use DROP FUNCTION {self.name.name} first",
                position=position_of(self.name),
            )

    def _exists(self, name: str) -> PalimpsestError:
        return PalimpsestError(
            Code.DUPLICATE_FUNCTION,
            f"function {name} exists already with the same parameters",
            advice="use OR REPLACE, or another name",
            position=position_of(self.name),
        )

    def _take_columns(self, rows: exp.Expr, context: RewriteContext) -> bool:
        """Give rows of ``SETOF t`` the columns of a table or view t; False for another type."""
        kind = None if self.result is None else self.result.args.get("to")
        if not isinstance(kind, exp.DataType) or kind.this is not exp.DType.USERDEFINED:
            return False
        named = exp.to_table(str(kind.args["kind"]), dialect="postgres")
        if find_type(kind, context) is not None:
            return False
        relation = context.catalog.get(table_name(named, context))
        if relation is None:
            raise unknown_type(named, context)
        if not self.is_rows:
            what = "a row as the value of a function is not supported"
            raise _refused(self.name, what, "write RETURNS TABLE (name type, ..)")
        columns = [ident(f"_{place}") for place in range(len(relation.columns))]
        rows.args["from_"].this.args["alias"].set("columns", columns)
        outputs: list[exp.Expr] = []
        for place, name in enumerate(columns):
            column = relation.columns[place]
            value: exp.Expr = exp.column(name.copy())
            if isinstance(column, Column):
                value = cast(value, column.type)
            outputs.append(exp.alias_(value, ident(str(getattr(column, "name", column)))))
        rows.set("expressions", outputs)
        return True

    def _body(self, context: RewriteContext) -> MacroBody:
        names = [fold(name) for name, _ in self.parameters]
        if len(set(names)) < len(names):
            raise _invalid(self.name, "a parameter is named twice", "name each once")
        for _, default in self.parameters:
            for used in [] if default is None else default.find_all(exp.Column):
                raise homeless_column(used)
        defaults = [default is not None for _, default in self.parameters]
        if defaults != sorted(defaults):
            advice = "give all behind the first one defaults"
            raise _invalid(self.name, "a parameter without default follows one with", advice)
        holder = exp.Paren(this=self.query.copy())
        of_relation = self._take_columns(holder.this, context)
        _resolve_names(holder, context)
        expanded = holder.copy()
        expand_macros(expanded, context)
        for called in expanded.find_all(exp.Anonymous):
            if fold(called.name) == fold(self.name.name):
                message = "a function that calls itself is not supported"
                raise _refused(called, message, "use WITH RECURSIVE")
        check_functions(expanded, sequences=True)
        for table in expanded.find_all(exp.Table):
            if is_named(table) and not is_cte(table):
                find_relation(table, context)
        for used in expanded.find_all(exp.Column):
            is_parameter = fold(used.parts[0].name) in names
            if used.find_ancestor(exp.Query, exp.Lambda) is None and not is_parameter:
                raise homeless_column(used)
        expand_types(holder, context)
        qualify(holder, context)
        _check_columns(holder.this, dict(zip(names, self.kinds, strict=True)), context)
        types = tuple(_type_text(kind, context) for kind in self.kinds)
        return MacroBody(
            tuple((n, None if d is None else canonical_text(d)) for n, d in self.parameters),
            canonical_text(holder.this),
            types,
            None if self.result is None or of_relation else _type_text(self.result, context),
            is_function=True,
        )


STATEMENT = CreateFunction


def _meaning(form: FunctionForm, name: exp.Table) -> exp.Expr:
    """What a call stands for, in the words of the client."""
    query = _parsed_body(form, name)
    _mark_parameters(query, form, name)
    result = form.result
    if result.is_rows:
        return _rows_of(query, result, form, name)
    _check_width(query, 1, name)
    value = _value_of(query)
    value = exp.Cast(this=value, to=result.types[0].copy())
    if form.is_strict and form.parameters:
        given = exp.and_(*_given(form), copy=False)
        value = exp.Case(ifs=[exp.If(this=given, true=value)])
    return value


def _parsed_body(form: FunctionForm, name: exp.Table) -> exp.Query:
    """The query of the function's text; raises NOT_SUPPORTED for anything else."""
    found = parsing.parse(form.body, "postgres", DEFAULT_LIMITS)
    if len(found) == 1 and isinstance(found[0].statement, SqlStatement):
        ast = found[0].statement.ast
        is_numbered = all(isinstance(p, int) for p in found[0].parameters)
        if isinstance(ast, exp.Select | exp.SetOperation) and is_numbered:
            return ast
        if isinstance(ast, exp.Values | exp.Subquery) and is_numbered:
            source = ast if isinstance(ast, exp.Values) else exp.Subquery(this=ast.this)
            source.set("alias", exp.TableAlias(this=ident(_INNER)))
            return exp.select("*").from_(source, copy=False)
    raise _refused(
        name,
        "a function whose body is not one query is not supported",
        "write one SELECT, and run other statements in the application, in one transaction",
    )


def _mark_parameters(query: exp.Expr, form: FunctionForm, name: exp.Table) -> None:
    """Put casts of the parameters in the place of ``$1``, ``f.n`` and names that may be theirs."""
    kinds = {fold(n): kind for (n, _), kind in zip(form.parameters, form.types, strict=True)}
    columns = list(query.find_all(exp.Column))
    for place in list(query.find_all(exp.Placeholder, exp.Parameter)):
        number = place.name.removeprefix(USER_PARAMETER)
        if not number.isdigit() or int(number) >= len(form.parameters):
            shown = f"${int(number) + 1}" if number.isdigit() else place.sql()
            raise _invalid(place, f"there is no parameter {shown}", "name one of the parameters")
        given = form.parameters[int(number)][0]
        place.replace(_typed(given, kinds[fold(given)]))
    for column in columns:
        kind = kinds.get(fold(column.name))
        if kind is None or isinstance(column.this, exp.Star):
            continue
        if not column.table:
            column.replace(_typed(_MAYBE + column.name, kind))
        elif fold(column.table) == fold(name.name) and not _has_source(column):
            column.replace(_typed(column.name, kind))


def _has_source(column: exp.Column) -> bool:
    """True where a relation in reach has the name before the column's."""
    return any(
        fold(source.alias_or_name) == fold(column.table)
        for scope in enclosing_statements(column)
        for source in relations_of(scope)
    )


def _typed(name: str, kind: exp.DataType) -> exp.Cast:
    return exp.Cast(this=exp.Column(this=ident(name)), to=kind.copy())


def _value_of(query: exp.Query) -> exp.Expr:
    """The first value of a query, as an expression."""
    if isinstance(query, exp.Select) and len(query.expressions) == 1:
        output = query.expressions[0].unalias()
        others = [name for name, value in query.args.items() if value and name != "expressions"]
        if not others and not any(is_aggregate(part) for part in output.walk()):
            if not output.find(exp.Unnest, exp.GenerateSeries, exp.Explode, exp.Star):
                return output  # type: ignore[no-any-return]
        is_one = not any(query.args.get(name) for name in ("group", "limit", "having", "windows"))
        if is_one and any(isinstance(part, exp.AggFunc) for part in output.walk()):
            return exp.Subquery(this=query)
    if query.args.get("limit") is not None:
        source = exp.Subquery(this=query, alias=exp.TableAlias(this=ident(_ROWS)))
        query = exp.select("*").from_(source, copy=False)
    return exp.Subquery(this=query.limit(1, copy=False))


def _check_width(query: exp.Expr, width: int, name: exp.Table) -> None:
    """Raise INVALID_FUNCTION for a query with more or fewer outputs than the function."""
    outputs = query.selects if isinstance(query, exp.Query) else []
    if len(outputs) != width and not any(output.is_star for output in outputs):
        message = f"the query of function {name.name} has {len(outputs)} columns, not {width}"
        raise _invalid(name, message, "select what RETURNS says")


def _rows_of(
    query: exp.Expr, result: FunctionResult, form: FunctionForm, name: exp.Table
) -> exp.Expr:
    """The rows of a query, with the names and types that the function gives them."""
    names = result.names or (name.name,)
    if result.names or result.types[0].this is not exp.DType.USERDEFINED:
        _check_width(query, len(names), name)
    columns = [ident(f"_{place}") for place in range(len(names))]
    source = exp.Subquery(this=query, alias=exp.TableAlias(this=ident(_ROWS), columns=columns))
    outputs = [
        exp.alias_(exp.Cast(this=exp.column(column.copy()), to=kind.copy()), ident(shown))
        for column, kind, shown in zip(columns, result.types, names, strict=True)
    ]
    made = exp.select(*outputs).from_(source, copy=False)
    return made.where(*_given(form), copy=False) if form.is_strict and form.parameters else made


def _given(form: FunctionForm) -> list[exp.Expr]:
    """That no argument is NULL."""
    pairs = zip(form.parameters, form.types, strict=True)
    return [exp.not_(exp.Is(this=_typed(n, kind), expression=exp.null())) for (n, _), kind in pairs]


def _resolve_names(holder: exp.Expr, context: RewriteContext) -> None:
    """Make columns of names that a relation in reach has, and parameters of the others."""
    for column in list(holder.find_all(exp.Column)):
        if not column.name.startswith(_MAYBE):
            continue
        plain = column.name.removeprefix(_MAYBE)
        cast = column.parent
        source = _source_of(column, plain, context)
        if source is not None and isinstance(cast, exp.Cast):
            cast.replace(exp.column(ident(plain), table=ident(source)))
        else:
            column.replace(exp.Column(this=ident(plain)))


def _source_of(column: exp.Column, name: str, context: RewriteContext) -> str | None:
    """The relation in reach that has a column of this name."""
    for scope in enclosing_statements(column):
        known = ctes_in_reach(scope, context)
        for source in relations_of(scope):
            if fold(name) in map(fold, names_of_source(source, context, known)):
                return source.alias_or_name
    return None


def _check_columns(
    meaning: exp.Expr, parameters: Mapping[str, exp.Expr], context: RewriteContext
) -> None:
    """Raise UNKNOWN_COLUMN where the query names a column that no relation in reach has.

    What else is wrong in it shows when the function is called.
    """
    value = meaning.copy()
    query = value if isinstance(value, exp.Query) else exp.select(value)
    if query.find(exp.Table) is None:
        return
    for used in list(query.find_all(exp.Column)):
        given = None if used.table else parameters.get(fold(used.name))
        if given is not None:
            used.replace(given.copy())
    expand_macros(query, context)
    reads = Reads(context)
    holder = exp.Subquery(this=query)
    expand_types(holder, context)
    reads.rewrite(holder)
    shape = without_calls(holder.this.copy())
    assert isinstance(shape, exp.Query)
    try:
        context.describe(shape, frozenset(reads.tables))
    except PalimpsestError as error:
        if error.code is Code.UNKNOWN_COLUMN:
            raise


def _null_of(kind: exp.DataType) -> exp.Expr:
    return exp.Cast(this=exp.null(), to=kind.copy())


def _type_text(null: exp.Expr, context: RewriteContext) -> str:
    """The type of a cast of NULL in canonical words."""
    holder = exp.Paren(this=null.copy())
    expand_types(holder, context)
    found = holder.find(exp.Cast)
    assert found is not None
    if found.to.this is exp.DType.USERDEFINED:
        raise unknown_type(exp.to_table(str(found.to.args["kind"]), dialect="postgres"), context)
    return canonical_text(found.to)


def _invalid(node: exp.Expr, message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(
        Code.INVALID_FUNCTION, message, advice=advice, position=position_of(node)
    )


def _refused(node: exp.Expr, message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, message, advice=advice, position=position_of(node))
