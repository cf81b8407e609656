"""CREATE MACRO, which DuckDB also calls FUNCTION; calls are replaced before any rule.

CREATE [OR REPLACE] [TEMP] MACRO [IF NOT EXISTS] name (a, b T := 1) AS [TABLE] body [, (a) AS ..] ..
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import Macro, MacroBody, definition_key
from journal.model.plan import StatementPlan
from journal.model.schema import fold
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.macros import expand_macros
from rewriter.definitions.new_relations import ddl_plan, new_definition_name
from rewriter.definitions.user_types import expand_types
from rewriter.functions import is_function_of_sql
from rewriter.name_resolution import find_relation, homeless_column, position_of
from rewriter.reading.qualified_names import qualify
from rewriter.reading.scopes import is_named
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.statements.macro_forms import MacroForm, is_macro, read_form
from rewriter.syntax.token_reader import Parse, TokenReader
from rewriter.writing.views_of_macros import put_macro


@dataclass(frozen=True, slots=True)
class CreateMacro(OwnStatement):
    """CREATE MACRO."""

    name: exp.Table
    forms: tuple[MacroForm, ...]
    temporary: bool = False
    exists: bool = False
    replace: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> CreateMacro | None:
        """The statement, or None where something else than a macro is made."""
        reader = TokenReader(tokens, parse, 1)
        replaces = reader.takes("OR", "REPLACE")
        temporary = reader.takes_temporary()
        if not reader.takes("MACRO") and not reader.takes("FUNCTION"):
            return None
        exists = reader.takes("IF", "NOT", "EXISTS")
        name = reader.name()
        if not reader.takes("(") or not is_macro(tokens, reader.place):
            return None
        forms = [read_form(reader)]
        while reader.takes(","):
            if not reader.takes("("):
                raise reader.error("the parameters of another form were expected")
            forms.append(read_form(reader))
        reader.ends("nothing else stands behind a macro")
        return cls(name, tuple(forms), temporary, exists, replaces)

    def check(self, access: StatementAccess) -> None:
        """Whoever may make relations in its schema may make one, and its owner may replace it."""
        access.owners.may_create(self.name, is_temporary=self.temporary)
        if self.replace and not self.temporary:
            access.owners.owned_schema(self.name)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Put the macro into the catalog, its bodies in canonical words."""
        node = self.name
        name = new_definition_name(node, context, temporary=self.temporary)
        kinds = {form.is_table for form in self.forms}
        if len(kinds) > 1:
            raise _invalid(f"the forms of {name} are values and tables", "make two macros", node)
        if is_function_of_sql(node.name, context.dialect):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"{node.name} is a function of SQL, which no macro can hide",
                advice="use another name",
                position=position_of(node),
            )
        bodies = tuple(_macro_body(form, node, context) for form in self.forms)
        widths = [len(body.parameters) for body in bodies]
        if len(set(widths)) < len(widths) and any(body.types for body in bodies):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"forms of {name} differ by the types of their parameters alone",
                advice="give each form another number of parameters, or another name",
                position=position_of(node),
            )
        named = [tuple(form.parameters) for form in bodies]
        if len(set(named)) < len(named):
            raise _invalid(f"two forms of {name} have the same parameters", "keep one", node)
        made = Macro(name, kinds == {True}, bodies)
        known = context.catalog.definitions.get(definition_key(made))
        if known is not None and self.exists:
            return ddl_plan([], "CREATE MACRO")
        if known is not None and not self.replace:
            raise PalimpsestError(
                Code.DUPLICATE_TYPE,
                f"macro {name} exists already",
                advice="use OR REPLACE or IF NOT EXISTS, or another name",
                position=position_of(node),
            )
        return ddl_plan(put_macro(made, known, node, context), "CREATE MACRO")


STATEMENT = CreateMacro


def _macro_body(form: MacroForm, node: exp.Table, context: RewriteContext) -> MacroBody:
    names = [fold(name) for name, _ in form.parameters]
    if len(set(names)) < len(names):
        raise _invalid("a parameter is named twice", "name each once", node)
    defaults = [default is not None for _, default in form.parameters]
    if defaults != sorted(defaults):
        raise _invalid("a parameter without default follows one with", "put it first", node)
    for part in form.body.find_all(exp.Placeholder, exp.Parameter):
        raise _invalid("a macro cannot have placeholders", "make it a parameter", part)
    holder = exp.Paren(this=form.body)
    # Expanded once to see that it can be; what is kept goes on naming macros.
    expanded = holder.copy()
    expand_macros(expanded, context)
    _check_columns(expanded, set(names))
    expand_types(holder, context)
    qualify(holder, context)
    for table in expanded.find_all(exp.Table):
        if is_named(table) and table.db:
            find_relation(table, context)
    parameters = tuple(
        (name, None if default is None else canonical_text(default))
        for name, default in form.parameters
    )
    return MacroBody(parameters, canonical_text(holder.this), _types(form, context))


def _types(form: MacroForm, context: RewriteContext) -> tuple[str | None, ...]:
    """The types of the parameters in canonical words; none where no parameter has one."""
    if not any(form.types):
        return ()
    shown: list[str | None] = []
    for kind in form.types:
        holder = exp.Paren(this=exp.cast(exp.null(), kind)) if kind is not None else None
        if holder is not None:
            expand_types(holder, context)
        shown.append(None if holder is None else canonical_text(holder.this.args["to"]))
    return tuple(shown)


def _check_columns(holder: exp.Expr, names: set[str]) -> None:
    """Raise UNKNOWN_COLUMN for a column of nowhere: of no query, and no parameter."""
    for used in holder.find_all(exp.Column):
        inside = used.find_ancestor(exp.Query, exp.Lambda)
        if inside is None and fold(used.parts[0].name) not in names:
            raise homeless_column(used)


def _invalid(message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.INVALID_DEFINITION, message, advice=advice, position=position_of(node)
    )
