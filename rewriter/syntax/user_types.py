"""CREATE, ALTER and DROP of TYPE and DOMAIN, recognised by their tokens.

CREATE [OR REPLACE] [TEMP] TYPE [IF NOT EXISTS] name AS ENUM ('a', ..) | ENUM (query) | (a int, ..)
    | type
CREATE DOMAIN name [AS] type [DEFAULT value] [NOT NULL] [[CONSTRAINT name] CHECK (condition)] ..
ALTER TYPE name ADD VALUE [IF NOT EXISTS] 'a' [BEFORE | AFTER 'b'] | RENAME VALUE 'a' TO 'b'
ALTER TYPE | DOMAIN name RENAME TO name | SET SCHEMA schema
ALTER DOMAIN name ..: see alter_domain
DROP TYPE | DOMAIN [IF EXISTS] name, .. [CASCADE | RESTRICT]
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.named_definitions import ALIAS, DOMAIN, ENUM, STRUCT
from rewriter.statement import AlterDomain, AlterType, CreateType, DropTypes, OfType
from rewriter.syntax.alter_domain import read_domain_action
from rewriter.syntax.token_reader import Parse, TokenReader

_TEMPORARY = frozenset({"TEMP", "TEMPORARY"})
_CLAUSES = frozenset({"DEFAULT", "NOT", "NULL", "CHECK", "CONSTRAINT", "COLLATE"})


def recognise_type(tokens: list[Token], parse: Parse) -> OfType | None:
    """The statement if it is about types or domains, else None."""
    reader = TokenReader(tokens, parse, 1)
    verb = tokens[0].text.upper()
    replaces = verb == "CREATE" and reader.takes("OR", "REPLACE")
    temporary = verb == "CREATE" and any(reader.takes(word) for word in _TEMPORARY)
    is_domain = reader.takes("DOMAIN")
    if not is_domain and not reader.takes("TYPE"):
        return None
    match verb:
        case "CREATE":
            exists = reader.takes("IF", "NOT", "EXISTS")
            made = _domain(reader) if is_domain else _type(reader)
            return replace(made, temporary=temporary, exists=exists, replace=replaces)
        case "ALTER":
            return _alter(reader, is_domain)
        case _:
            exists = reader.takes("IF", "EXISTS")
            names = [reader.name()]
            while reader.takes(","):
                names.append(reader.name())
            cascade = reader.takes("CASCADE")
            restrict = not cascade and reader.takes("RESTRICT")
            reader.ends("DROP needs names, and CASCADE or RESTRICT behind them")
            return DropTypes(tuple(names), is_domain, exists, cascade, restrict)


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


def _alter(reader: TokenReader, is_domain: bool) -> AlterType | AlterDomain:
    name = reader.name()
    action = read_domain_action(reader) if is_domain else None
    if action is not None:
        reader.ends("nothing else stands here")
        return AlterDomain(name, action)
    if reader.takes("RENAME", "TO"):
        found = AlterType(name, is_domain, new_name=reader.name())
    elif reader.takes("SET", "SCHEMA"):
        found = AlterType(name, is_domain, new_schema=reader.word())
    elif not is_domain and reader.takes("ADD", "VALUE"):
        exists = reader.takes("IF", "NOT", "EXISTS")
        label = reader.text()
        before = reader.takes("BEFORE")
        beside = reader.text() if before or reader.takes("AFTER") else None
        found = AlterType(name, add=label, exists=exists, beside=beside, before=before)
    elif not is_domain and reader.takes("RENAME", "VALUE"):
        old = reader.text()
        if not reader.takes("TO"):
            raise reader.error("RENAME VALUE needs TO and the new value")
        found = AlterType(name, rename_label=(old, reader.text()))
    else:
        forms = (
            "ADD, DROP, SET, VALIDATE or RENAME"
            if is_domain
            else "ADD VALUE, RENAME VALUE or RENAME TO"
        )
        raise reader.error(f"{forms} was expected")
    reader.ends("nothing else stands here")
    return found
