"""Recognises statements on PostgreSQL's catalog, and translates them for DuckDB. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from gateway.servers.pg_catalog.functions import MACROS
from gateway.servers.pg_catalog.guarded_subqueries import guard_subqueries
from gateway.servers.pg_catalog.names import is_function_column
from gateway.servers.pg_catalog.numbering import CATALOGS
from gateway.servers.pg_catalog.object_casts import number_of_name, object_cast
from gateway.servers.pg_catalog.patterns import spell_escapes, spell_patterns
from gateway.servers.pg_catalog.relations import builtin_types, relation_columns
from gateway.servers.pg_catalog.vectors import for_lists_and_rows
from gateway.servers.pgwire.types import field_of
from journal.model.result_column import ResultColumn
from rewriter.functions import SEQUENCE_FUNCTIONS
from rewriter.reading.postgres.quoting import spell_format
from rewriter.syntax.postgres_words import with_words_spelled_out
from rewriter.syntax.statements.session_calls import session_calls

_HINT = re.compile(
    r"\bpg_|\bversion\s*\(|current_setting|set_config|current_schema|\bto_reg|has_\w+_privilege"
    r"|\binformation_schema\b"
    r"|current_database|current_catalog|session_user|_description\s*\(|format_type|quote_ident"
    r"|row_security_active"
    r"|\breg(?:class|type|namespace|role|proc(?:edure)?)\b",
    re.IGNORECASE,
)
_OIDS = {"oid": "pgc_oid_list", "regtype": "pgc_regtype_list", "regclass": "pgc_regclass_list"}
_OID_LISTS = re.compile(
    r"(::\s*|\bAS\s+)(?:pg_catalog\.)?(oid|regtype|regclass)\s*\[\]", re.IGNORECASE
)
"""Casts to lists of types that sqlglot takes for names of objects, and of these it knows none."""
_AS_RELATIONS = {"pg_get_keywords": "keywords", "pg_options_to_table": "no_options"}
_ALONE = {*MACROS, *_AS_RELATIONS} - {"quote_ident", "user", "current_user", "session_user"}
"""Functions that make a statement without tables one on the catalog."""
_STANDARD = frozenset(
    {
        *("columns", "schemata", "tables", "views", "sequences", "table_constraints"),
        *("key_column_usage", "referential_constraints", "constraint_column_usage"),
        *("check_constraints", "routines", "attributes", "triggers"),
    }
)
"""Relations of ``information_schema`` that are here, as PostgreSQL has them."""
_SPOKEN = {
    "current_version": "version",
    "current_schema": "current_schema",
    "current_catalog": "current_database",
}
_AMONG_TABLES = frozenset({*_SPOKEN.values(), "current_database", *_AS_RELATIONS})
_OBJECT_TYPES = {
    *("regclass", "regtype", "regnamespace", "regrole", "regproc", "regprocedure"),
    *("regoper", "regoperator", "regcollation", "regconfig", "regdictionary"),
}
_TEXT_TYPES = {"name", "text", "char", "cstring", "information_schema.sql_identifier", "aclitem"}
_TEXT = 25
_BESIDE_COMMA = re.compile(r"""('[^']*'|"[^"]*")|,\$(?=\d)""")
"""A parameter right behind a comma, which a tokenizer takes for the end of a quote ``$1,$``."""
_BESIDE_OBJECTS = frozenset(
    {
        *("cast", "case", "if", "concat", "concat_ws", "upper", "lower", "length", "left", "right"),
        *("replace", "substring", "split_part", "trim", "coalesce", "nullif", "and", "or"),
    }
)
"""Functions that the catalog's engine has as PostgreSQL has them."""
_NUMBER_TYPES = {"oid", "xid", "int2vector", "oidvector"}


def catalog_queries(text: str) -> list[exp.Expr] | None:
    """The statements of a text if each of them reads the catalog alone, else None."""
    if _HINT.search(text) is None:
        return None
    try:
        ready = _BESIDE_COMMA.sub(
            lambda m: m[1] or ", $", _OID_LISTS.sub(lambda m: m[1] + _OIDS[m[2].lower()], text)
        )
        parsed = sqlglot.parse(ready, dialect="postgres")
    except SqlglotError:
        return None
    # A comment behind the last semicolon is a statement to the parser.
    found = [ast for ast in parsed if ast is not None and not isinstance(ast, exp.Semicolon)]
    return found if found and all(_is_on_catalog(ast) for ast in found) else None


_SIGNALS = frozenset({"pg_cancel_backend", "pg_terminate_backend"})


def catalog_parameters(query: exp.Expr, given: Sequence[int]) -> tuple[int, ...]:
    """The types of parameters: those that a client gave, else those they are cast to, else text."""
    found: dict[int, int] = {}
    for node in query.find_all(exp.Parameter, exp.Placeholder):
        place = int(node.name or node.this.name) - 1
        parent = node.parent
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        name = "text[]" if _is_quantified(parent) else _taken_by(parent)
        if isinstance(parent, exp.Cast):
            name = parent.to.sql(dialect="postgres").lower()
        name = "oid[]" if name in _OIDS.values() else name
        base, is_list = name.removesuffix("[]"), name.endswith("[]")
        base = "bpchar" if base == "char" else base  # Without quotes it is not "char".
        known = next((t for t in builtin_types() if base in (t["typname"], t["shown"])), None)
        if known is not None:
            number = int(known["typarray" if is_list else "oid"])
        else:
            # Types that the parser calls otherwise, as INT.
            kind = parent.to.sql(dialect="duckdb") if isinstance(parent, exp.Cast) else "TEXT"
            number = field_of(ResultColumn("", kind)).oid
        before = found.get(place, 0)
        found[place] = max(before, number) if name != "text" else before or number
    known_oids = [found.get(place, _TEXT) for place in range(max(found, default=-1) + 1)]
    known_oids[: len(given)] = [
        oid or known_oids[i] for i, oid in enumerate(given[: len(known_oids)])
    ]
    return tuple(known_oids)


def _taken_by(node: exp.Expr | None) -> str:
    """The type of what stands in a function's brackets, or beside an operator."""
    is_signal = isinstance(node, exp.Anonymous) and node.name.lower() in _SIGNALS
    return "int4" if is_signal else "text"


def _is_quantified(node: exp.Expr | None) -> bool:
    """True for the ANY or ALL of a comparison with each value of a list."""
    is_all = isinstance(node, exp.Anonymous) and node.name.lower() == "all"
    return is_all or isinstance(node, exp.Any | exp.All)


def _is_on_catalog(ast: exp.Expr) -> bool:
    if not isinstance(ast, exp.Query) or session_calls(ast) is not None:
        return False
    ctes = {cte.alias for cte in ast.find_all(exp.CTE)}
    tables = [t for t in ast.find_all(exp.Table) if isinstance(t.this, exp.Identifier)]
    named = [t for t in tables if t.db or t.name not in ctes]
    if named:
        return all(_is_relation(t) or _is_standard(t) for t in named)
    called = _function_names(ast)
    if any(name in SEQUENCE_FUNCTIONS for name in called):
        # setval(pg_get_serial_sequence('t', 'c'), 5) moves a sequence of the store.
        return False
    return any(name in _ALONE for name in called) or (
        # Beside functions of the session, such as nextval, the number of an object is its own.
        any(_is_object_type(node.to) for node in ast.find_all(exp.Cast))
        and all(name in MACROS or name in _BESIDE_OBJECTS for name in called)
    )


def _is_object_type(kind: exp.DataType) -> bool:
    return kind.sql(dialect="postgres").lower().removeprefix("pg_catalog.") in _OBJECT_TYPES


def _is_relation(table: exp.Table) -> bool:
    return table.db.lower() in {"", "pg_catalog"} and table.name.lower() in relation_columns()


def _is_standard(table: exp.Table) -> bool:
    return table.db.lower() == "information_schema" and table.name.lower() in _STANDARD


def _function_names(ast: exp.Expr) -> list[str]:
    found = [node.name.lower() for node in ast.find_all(exp.Anonymous)]
    known = (node for node in ast.find_all(exp.Func) if not isinstance(node, exp.Anonymous))
    named = [node.sql_name().lower() for node in known]
    return found + [_SPOKEN.get(name, name) for name in named]


_NUMBERS = re.compile(r"\{(?:\d+(?:,\d+)*)?\}")


def translated(ast: exp.Expr) -> str:
    """The statement in the engine's SQL, over the relations of schema ``pgc``."""
    found = with_words_spelled_out(ast.copy())
    spell_patterns(found)
    for node in list(found.walk()):
        changed = _changed(node)
        if changed is not node:
            node.replace(changed)
    spell_escapes(found)
    guard_subqueries(found)
    for call in list(found.find_all(exp.Format, exp.Anonymous)):
        arguments = (
            call.expressions if isinstance(call, exp.Anonymous) else [*call.iter_expressions()]
        )
        if isinstance(call, exp.Format) or call.name.lower() == "format":
            call.replace(spell_format(call, arguments) or call)
    return str(found.sql(dialect="duckdb"))


def _put_in_catalog(table: exp.Table, name: str) -> None:
    """Let a relation be one of the engine's, whatever database it was looked for in."""
    table.set("catalog", None)
    table.set("db", exp.to_identifier("pgc"))
    table.set("this", exp.to_identifier(name))


def _changed(node: exp.Expr) -> exp.Expr:
    found = for_lists_and_rows(node)
    if found is not None:
        return found
    match node:
        case exp.Table() if isinstance(node.this, exp.Identifier) and _is_relation(node):
            _put_in_catalog(node, node.name.lower())
        case exp.Table() if isinstance(node.this, exp.Identifier) and _is_standard(node):
            name = node.name.lower()
            if not node.alias:
                node.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
            _put_in_catalog(node, f"standard_{name}")
        case exp.Table() if isinstance(node.this, exp.StringToArray):
            return _one_column(node, node.this)
        case exp.Table() if isinstance(node.this, exp.ExplodingGenerateSeries):
            ends = [exp.Paren(this=end) for end in node.this.iter_expressions()]
            # The engine's own among tables takes no bounds that it has to look up.
            numbers = exp.Anonymous(this="generate_series", expressions=ends)
            return _one_column(node, exp.Anonymous(this="unnest", expressions=[numbers]))
        case exp.Table() if isinstance(node.this, exp.Func) and (
            node.db.lower() == "pg_catalog" or _called(node.this) in _AMONG_TABLES
        ):
            return _table_function(node)
        case exp.Column() if node.name.lower() == "xmin" and not node.args["this"].args["quoted"]:
            # Nothing here has a transaction of PostgreSQL's.
            one = exp.Literal.number(1)
            return exp.alias_(one, "xmin") if isinstance(node.parent, exp.Select) else one
        case exp.Column() if node.name.lower() == "tableoid":
            return _own_number(node)
        case exp.Column() if node.db.lower() == "pg_catalog":
            node.set("db", exp.to_identifier("pgc"))
        case exp.Column() if node.db.lower() == "information_schema":
            # Its relations have their names as aliases.
            node.set("db", None)
        case exp.Dot() if _is_call_of(node):
            return cast("exp.Expr", node.expression)
        case exp.Anonymous():
            return _call(node.name.lower(), node)
        case exp.CurrentUser() | exp.SessionUser() | exp.CurrentDatabase() | exp.CurrentCatalog():
            name = "current_user" if "User" in type(node).__name__ else "current_database"
            return exp.Anonymous(this=f"pgc_{name}", expressions=[])
        case exp.CurrentVersion():
            return exp.Anonymous(this="pgc_version", expressions=[])
        case exp.CurrentSchema():
            return exp.Anonymous(this="pgc_current_schema", expressions=[])
        case exp.Collate():
            return cast("exp.Expr", node.this)
        case exp.Select() if not node.expressions:
            # SELECT FROM t, as EXISTS takes it.
            node.set("expressions", [exp.Literal.number(1)])
        case exp.Operator():
            return _operator(node)
        case exp.Div() if _is_whole(node.this) and _is_whole(node.expression):
            return exp.IntDiv(this=node.this, expression=node.expression)
        case exp.EQ() | exp.NEQ() if is_function_column(node.this):
            if isinstance(node.expression, exp.Literal) and node.expression.name == "0":
                # No function is 0 as a number, and this as a name.
                node.set("expression", exp.Literal.string("-"))
        case exp.EQ() | exp.NEQ() if _is_list(node.expression):
            text = node.expression.name
            node.set("expression", exp.Literal.string(f"[{text[1:-1]}]"))
        case exp.Cast():
            return _cast(node)
        case exp.Func() if node.sql_name().lower() in MACROS:
            arguments = list(node.iter_expressions())
            return exp.Anonymous(this=f"pgc_{node.sql_name().lower()}", expressions=arguments)
    return node


def _own_number(node: exp.Column) -> exp.Expr:
    """``tableoid``: the number of the relation of the catalog in which a row is."""
    asked = node.find_ancestor(exp.Select)
    sources = [] if asked is None else [asked.args.get("from_"), *asked.args.get("joins", ())]
    found = next(
        (
            source.this
            for source in sources
            if source is not None and node.table in ("", source.this.alias_or_name)
        ),
        None,
    )
    number = exp.Literal.number(0 if found is None else CATALOGS.get(found.name.lower(), 0))
    return exp.alias_(number, "tableoid") if isinstance(node.parent, exp.Select) else number


def _is_list(node: exp.Expr) -> bool:
    """True for a text that spells a list of numbers, as what ``pg_policy.polroles`` is held to."""
    return isinstance(node, exp.Literal) and _NUMBERS.fullmatch(node.name) is not None


def _is_whole(node: exp.Expr) -> bool:
    """True for what is a whole number by its spelling."""
    if isinstance(node, exp.Cast):
        return node.to.this in exp.DataType.INTEGER_TYPES
    return isinstance(node, exp.Literal) and node.is_int


def _one_column(node: exp.Table, value: exp.Expr) -> exp.Expr:
    """A function of values among tables: its one column is called as the table is."""
    given = node.args.get("alias")
    table = node.alias or node.this.sql_name().lower()
    column = given.columns[0].name if given is not None and given.columns else table
    return exp.select(exp.alias_(value, column, copy=False)).subquery(table, copy=False)


def _table_function(node: exp.Table) -> exp.Expr:
    """A function among tables; a macro gives one row there."""
    name = _called(node.this)
    alias = node.alias or name
    if name in _AS_RELATIONS:
        return exp.table_(_AS_RELATIONS[name], db="pgc", alias=alias)
    if name not in MACROS:
        node.set("db", None)
        return node
    given = node.args.get("alias")
    names = [column.name for column in given.columns] if given else []
    arguments = node.this.expressions if isinstance(node.this, exp.Anonymous) else []
    call = exp.Anonymous(this=f"pgc_{name}", expressions=arguments)
    columns = [exp.alias_(call, names[0] if names else alias, copy=False)]
    if names[1:]:
        columns.append(exp.alias_(exp.Literal.number(1), names[1]))
    return exp.select(*columns, copy=False).subquery(alias, copy=False)


def _called(call: exp.Func) -> str:
    """The name that a function is called by, in lower case."""
    if isinstance(call, exp.Anonymous):
        return str(call.name.lower())
    return _SPOKEN.get(call.sql_name().lower(), call.sql_name().lower())


def _is_call_of(node: exp.Dot) -> bool:
    schema = node.this.name.lower() if isinstance(node.this, exp.Identifier | exp.Column) else ""
    return schema in {"pg_catalog", "information_schema"} and isinstance(node.expression, exp.Func)


def _call(name: str, node: exp.Anonymous) -> exp.Expr:
    if name in MACROS:
        node.set("this", f"pgc_{name}")
    elif name in {"json_build_object", "jsonb_build_object"}:
        node.set("this", "json_object")
    return node


def _operator(node: exp.Operator) -> exp.Expr:
    """``a OPERATOR(pg_catalog.~) b``."""
    sign = str(node.args["operator"]).rsplit(".", 1)[-1].strip("() ")
    match sign:
        case "~":
            return exp.RegexpLike(this=node.this, expression=node.expression)
        case "!~":
            return exp.Not(this=exp.RegexpLike(this=node.this, expression=node.expression))
        case "=":
            return exp.EQ(this=node.this, expression=node.expression)
        case "~~":
            return exp.Like(this=node.this, expression=node.expression)
        case _:
            return node


def _cast(node: exp.Cast) -> exp.Expr:
    name = node.to.sql(dialect="postgres").lower().replace("pg_catalog.", "").replace('"', "")
    if name in _OIDS.values():
        if isinstance(node.this, exp.Literal) and name != _OIDS["oid"]:
            return _numbers_of_names(node.this.name, name)
        name = "oid[]"
    is_list = name.endswith("[]")
    if is_list and _is_list(node.this):
        node.set("this", exp.Literal.string(f"[{node.this.name[1:-1]}]"))
    name = name.removesuffix("[]")
    if name == "oid" and not is_list and (number := number_of_name(node)) is not None:
        return number
    if name in _OBJECT_TYPES and not is_list:
        return object_cast(node, name)
    if name in _TEXT_TYPES or name in _OBJECT_TYPES:
        node.set("to", exp.DataType.build("VARCHAR[]" if is_list else "VARCHAR"))
    elif name in _NUMBER_TYPES:
        node.set("to", exp.DataType.build("BIGINT[]" if is_list else "BIGINT"))
    elif "pg_catalog." in node.to.sql(dialect="postgres").lower():
        kind = name + ("[]" if is_list else "")
        node.set("to", exp.DataType.build(kind, dialect="postgres"))
    return node


def _numbers_of_names(names: str, kind: str) -> exp.Expr:
    """A list such as ``'{int,text}'::regtype[]``."""
    called = kind.removesuffix("_list").replace("pgc_", "pgc_to_")
    given = [exp.Literal.string(part.strip()) for part in names.strip("{}").split(",")]
    return exp.Array(expressions=[exp.Anonymous(this=called, expressions=[n]) for n in given])
