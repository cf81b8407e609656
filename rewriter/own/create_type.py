"""CREATE TYPE and CREATE DOMAIN: values stay as they are written.

CREATE [OR REPLACE] [TEMP] TYPE [IF NOT EXISTS] name AS ENUM ('a', ..) | (a int, ..) | type
CREATE DOMAIN name [AS] type [COLLATE name] [DEFAULT value] [NOT NULL]
  [[CONSTRAINT name] CHECK (condition)] ..
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import (
    ALIAS,
    DOMAIN,
    ENUM,
    STRUCT,
    DropDefinition,
    PutDefinition,
    UserType,
    definition_key,
)
from journal.model.plan import Change, StatementPlan, Step
from journal.model.schema import TableName, fold
from rewriter.access.check import StatementAccess
from rewriter.context import RewriteContext
from rewriter.definitions.canonical_texts import canonical_text, default_text
from rewriter.definitions.collations import BYTES, TEXTS
from rewriter.definitions.column_types import type_text
from rewriter.definitions.new_relations import ddl_plan, new_definition_name
from rewriter.definitions.skipping import made_before
from rewriter.definitions.type_changes import without_types
from rewriter.definitions.user_types import (
    DOMAIN_VALUE,
    check_condition,
    check_types_known,
    enum_text,
    expanded_text,
    find_type,
)
from rewriter.dialect_semantics import DIALECTS, semantics_of
from rewriter.name_resolution import position_of
from rewriter.reading.postgres.lengths import length_condition
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.token_reader import Parse, TokenReader

_CLAUSES = frozenset({"DEFAULT", "NOT", "NULL", "CHECK", "CONSTRAINT", "COLLATE"})


@dataclass(frozen=True, slots=True)
class CreateType(OwnStatement):
    """CREATE TYPE .. AS .., and CREATE DOMAIN.

    ``labels`` are those of an enum, or ``query`` gives them; else ``type`` is what it stands for.
    """

    name: exp.Table
    kind: str
    labels: tuple[str, ...] = ()
    query: exp.Query | None = None
    type: exp.DataType | None = None
    not_null: bool = False
    default: exp.Expr | None = None
    checks: tuple[tuple[str | None, exp.Expr], ...] = ()
    temporary: bool = False
    exists: bool = False
    replace: bool = False

    @classmethod
    def read(cls, tokens: list[Token], parse: Parse) -> CreateType | None:
        """The statement, or None where something else than a type is made."""
        reader = TokenReader(tokens, parse, 1)
        replaces = reader.takes("OR", "REPLACE")
        temporary = reader.takes_temporary()
        is_domain = reader.takes("DOMAIN")
        if not is_domain and not reader.takes("TYPE"):
            return None
        exists = reader.takes("IF", "NOT", "EXISTS")
        made = _domain(reader) if is_domain else _type(reader)
        return replace(made, temporary=temporary, exists=exists, replace=replaces)

    def check(self, access: StatementAccess) -> None:
        """Whoever may make relations in its schema may make one, and its owner may replace it."""
        access.owners.may_create(self.name, is_temporary=self.temporary)
        if self.replace and not self.temporary:
            access.owners.owned_schema(self.name)
        conditions = [condition for _, condition in self.checks]
        for node in (self.default, self.query, *conditions):
            if node is not None:
                access.reads.check(node)

    def rewrite(self, context: RewriteContext) -> StatementPlan:
        """Put the type into the catalog."""
        node, tag = self.name, f"CREATE {'DOMAIN' if self.kind == DOMAIN else 'TYPE'}"
        name = new_definition_name(node, context, temporary=self.temporary)
        if "." in name.name or '"' in name.name:
            raise _refusal("a type's name with a dot or a quote in it", "use another name", node)
        if DIALECTS.get(context.dialect) == "duckdb" and not node.db and fold(node.name) in _OWN:
            raise _exists(node.name, node)
        made = _user_type(self, name, context)
        known = context.catalog.definitions.get(definition_key(made))
        if known is not None and self.exists:
            return ddl_plan([], tag, [made_before("type", name.name)])
        steps: list[Step] = []
        if known is not None and self.replace and isinstance(known, UserType):
            steps = [*without_types([known], context), Change(DropDefinition(known))]
        elif known is not None:
            raise _exists(str(name), node)
        return ddl_plan([*steps, Change(PutDefinition(made))], tag)


STATEMENT = CreateType
_OWN = frozenset(
    "array bigint bignum binary bit bitstring blob bool boolean bpchar bytea char date datetime dec"
    " decimal double enum float float4 float8 geometry guid hugeint int int1 int128 int16 int2"
    " int32 int4 int64 int8 integer integral interval list logical long map null numeric nvarchar"
    " oid real row short signed smallint string struct text time time_ns timestamp timestamp_ms"
    " timestamp_ns timestamp_s timestamp_us timestamptz timestamptz_ns timetz tinyint tuple type"
    " ubigint uhugeint uint128 uint16 uint32 uint64 uint8 uinteger union usmallint utinyint uuid"
    " varbinary varchar variant varint".split()
)
"""DuckDB's own types, which hide others of their names."""


def _exists(name: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.DUPLICATE_TYPE,
        f"type {name} exists already",
        advice="use IF NOT EXISTS, or another name",
        position=position_of(node),
    )


def _type(reader: TokenReader) -> CreateType:
    name = reader.name()
    if not reader.takes("AS"):
        raise reader.error("CREATE TYPE needs AS and what the type is")
    if reader.takes("ENUM"):
        if not reader.takes("("):
            raise reader.error("ENUM needs its values in parentheses")
        labels: list[str] = []
        query = None
        starts_query = reader.place < len(reader.tokens) and reader.tokens[
            reader.place
        ].text.upper() in {"SELECT", "WITH", "FROM", "VALUES"}
        if starts_query:
            found = reader.parse(reader.part(), None)
            query = found if isinstance(found, exp.Query) else None
            if query is None:
                raise reader.error("a query was expected")
            reader.takes(")")
        else:
            while not reader.takes(")"):
                labels.append(reader.text())
                if not reader.takes(",") and reader.tokens[reader.place :][:1] != []:
                    if not reader.takes(")"):
                        raise reader.error("a comma was expected")
                    break
        reader.ends("nothing else stands behind ENUM")
        return CreateType(name, ENUM, tuple(labels), query)
    if reader.takes("("):
        return CreateType(name, STRUCT, type=_fields(reader))
    kind = reader.data_type()
    reader.ends("nothing else stands behind the type")
    is_struct = kind.is_type(exp.DType.STRUCT)
    return CreateType(name, STRUCT if is_struct else ALIAS, type=kind)


def _fields(reader: TokenReader) -> exp.DataType:
    """A composite type as PostgreSQL writes it."""
    fields: list[exp.Expr] = []
    while True:
        token = reader.tokens[reader.place] if reader.place < len(reader.tokens) else None
        quoted = token is not None and token.token_type is TokenType.IDENTIFIER
        name = exp.to_identifier(reader.word(), quoted=quoted)
        fields.append(exp.ColumnDef(this=name, kind=reader.data_type({","})))
        if reader.takes(")"):
            break
        if not reader.takes(","):
            raise reader.error("a comma was expected")
    reader.ends("nothing else stands behind the fields")
    return exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)


def _domain(reader: TokenReader) -> CreateType:
    name = reader.name()
    reader.takes("AS")
    kind = reader.data_type(_CLAUSES)
    not_null, default = False, None
    checks: list[tuple[str | None, exp.Expr]] = []
    _collation(reader, kind, name)
    while reader.place < len(reader.tokens):
        named = reader.word() if reader.takes("CONSTRAINT") else None
        if reader.takes("CHECK"):
            checks.append((named, reader.value(_CLAUSES).unnest()))
        elif reader.takes("NOT", "NULL"):
            not_null = True
        elif reader.takes("NULL"):
            not_null = False
        elif named is None and reader.takes("DEFAULT"):
            default = reader.value(_CLAUSES)
        else:
            raise reader.error("DEFAULT, NOT NULL or CHECK was expected")
    return CreateType(
        name, DOMAIN, type=kind, not_null=not_null, default=default, checks=tuple(checks)
    )


def _collation(reader: TokenReader, kind: exp.DataType, name: exp.Table) -> None:
    """Read COLLATE of a domain, which may name the order that texts have anyway."""
    if not reader.takes("COLLATE"):
        return
    words = [reader.word()]
    while reader.takes("."):
        words.append(reader.word())
    said = ".".join(words)
    if not kind.is_type(*TEXTS):
        raise _invalid(f"{name.name} holds no texts and has no collation", "leave it out", name)
    if fold(said) not in BYTES:
        raise _refusal(f"COLLATE {said} of a domain", "say it at the columns of the domain", name)


def _user_type(ast: CreateType, name: TableName, context: RewriteContext) -> UserType:
    node = ast.name
    if ast.query is not None:
        raise _refusal("ENUM of a query", "write its values out", node)
    if ast.kind == ENUM:
        if not context.capabilities.enums:
            advice = "CREATE DOMAIN .. AS VARCHAR CHECK (VALUE IN (..)); its values are texts"
            raise _refusal("an ENUM type in this store", advice, node)
        double = next((v for i, v in enumerate(ast.labels) if v in ast.labels[:i]), None)
        if double is not None:
            raise _invalid(f"the value '{double}' stands twice in {name}", "name it once", node)
        return UserType(name, ENUM, enum_text(ast.labels))
    assert ast.type is not None
    base = find_type(ast.type, context)
    check_types_known(ast.type, context)
    text, declared = expanded_text(ast.type, context)
    try:
        built = exp.DataType.build(text, dialect="duckdb")
    except ParseError as error:
        raise _invalid(f"{text} is no type", "write the name of a type", node) from error
    type_text(built)
    kind = base.kind if base is not None and ast.kind != DOMAIN else ast.kind
    if kind != DOMAIN:
        return UserType(name, kind, text, declared=declared)
    checks = list(base.checks) if base is not None else []
    length = length_condition(exp.column(DOMAIN_VALUE), ast.type)
    if length is not None and semantics_of(context.dialect).keeps_lengths:
        checks.append((f"{name.name}_length", canonical_text(length)))
    for given, condition in ast.checks:
        check_condition(condition, node)
        number = 1
        shown = given or f"{name.name}_check"
        while given is None and shown in {n for n, _ in checks}:
            shown = f"{name.name}_check{number}"
            number += 1
        if shown in {n for n, _ in checks}:
            raise _invalid(f'{name} has two constraints "{shown}"', "name each anew", node)
        checks.append((shown, canonical_text(condition)))
    not_null = ast.not_null or (base is not None and base.not_null)
    default = None if base is None else base.default
    if ast.default is not None:
        default = default_text(ast.default, f"the DEFAULT of {name}")
    return UserType(name, DOMAIN, text, not_null, default, tuple(checks), declared)


def _invalid(message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(Code.SETTING_VALUE, message, advice=advice, position=position_of(node))


def _refusal(what: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice, position=position_of(node)
    )
