"""Queries in the condition of a row policy, made ready for text that is kept. Pure.

``owner IN (SELECT org FROM members WHERE usr = CURRENT_USER)``: names inside mean what the query
reads first, and what is left means the row that the policy is asked of. Where nobody can tell, the
definition is refused: a column that changed its meaning later would show other rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Relation, Table, View, fold
from journal.sql.cte_scopes import is_cte
from journal.sql.relations import ident
from rewriter.checks.allowed import check_allowed
from rewriter.context import RewriteContext
from rewriter.definitions.policy_sources import ROW, outer_queries, refer_by_id
from rewriter.definitions.row_columns import column_path, with_fields
from rewriter.definitions.sequences import sequence_calls
from rewriter.name_resolution import (
    INTERNAL,
    SYSTEM_SCHEMAS,
    find_relation,
    position_of,
    table_name,
    unknown_column,
)
from rewriter.query_settings import apply_settings
from rewriter.reading.past.time_travel import clause_of
from rewriter.reading.scopes import is_named
from rewriter.reading.user_words import read_user_words

_ADVICE = "a row policy reads tables and views of the catalog as they are today"


@dataclass(frozen=True, slots=True)
class _Source:
    """A source of rows in a FROM clause; ``names`` are its folded columns, None: nobody knows."""

    alias: str
    names: frozenset[str] | None


def keep_queries(held: exp.Expr, table: Table, context: RewriteContext) -> None:
    """Have the queries in a condition on rows of a table name all that they read, in place.

    Raises INVALID_DEFINITION for what a policy cannot read, UNKNOWN_TABLE and UNKNOWN_COLUMN.
    """
    if not outer_queries(held):
        return
    read_user_words(check_allowed(held, context.limits), context)
    apply_settings(held, context.query_settings)
    for call in sequence_calls(held):
        raise _invalid("a row policy cannot move a sequence", call)
    for query in outer_queries(held):
        _check_names(query)
        found = _name_sources(query, context)
        resolved = [_resolve(c, query, table, found) for c in list(query.find_all(exp.Column))]
        for used, path in resolved:
            if path is not None:
                stored = table.find(path[0])
                assert stored is not None
                place = exp.Column(this=ident(stored.physical), table=ident(ROW))
                used.replace(with_fields(place, path[1:]))


def _check_names(query: exp.Query) -> None:
    for name in query.find_all(exp.Identifier):
        if fold(name.name).startswith(INTERNAL):
            raise _invalid(f"names that begin with {INTERNAL} are the gateway's own", name)


def _name_sources(query: exp.Query, context: RewriteContext) -> dict[int, Relation]:
    """Have each table be named for good; the relations that nodes mean, by the nodes' ids."""
    found: dict[int, Relation] = {}
    for node in list(query.find_all(exp.Table)):
        if is_named(node) and is_cte(node):
            continue
        if not is_named(node):
            raise _invalid("a row policy cannot call functions that give rows", node)
        if clause_of(node) is not None:
            raise _invalid("a row policy cannot read at a point in time", node)
        name = table_name(node, context)
        if fold(name.schema) in SYSTEM_SCHEMAS or context.catalog.by_journal(name) is not None:
            raise _invalid(f"a row policy cannot read {name}", node)
        relation = find_relation(node, context)
        if context.catalog.is_own(relation.name):
            raise _invalid(f"a row policy cannot read {name}, which ends with the session", node)
        found[id(node)] = relation
    for node in query.find_all(exp.Table):
        known = found.get(id(node))
        if known is None:
            continue
        _unqualify(query, node, known)
        if not node.alias:
            node.set("alias", exp.TableAlias(this=ident(node.name)))
        if isinstance(known, Table):
            refer_by_id(node, known)
        else:
            node.set("catalog", None)
            node.set("db", ident(known.name.schema))
            node.set("this", ident(known.name.name))
    return found


def _unqualify(query: exp.Query, node: exp.Table, found: Relation) -> None:
    """Take the schema off columns of a table that has no alias: it goes by its name from now on."""
    if node.alias:
        return
    for used in query.find_all(exp.Column):
        if used.args.get("db") is not None and (fold(used.db), fold(used.table)) == found.name.key:
            used.set("catalog", None)
            used.set("db", None)


def _resolve(
    used: exp.Column, query: exp.Query, table: Table, found: dict[int, Relation]
) -> tuple[exp.Column, list[str] | None]:
    """A column, and the path of the row's column that it means; None: one of the queries."""
    if isinstance(used.this, exp.Star):
        return used, None
    known = {fold(c.name) for c in table.columns}
    path = column_path(used, table.name, known)
    sources = list(_sources_around(used, query, found))
    first = fold(used.parts[0].name)
    if len(used.parts) > 1 and any(s.alias == first for s in sources):
        return used, None
    if len(used.parts) > 1 and path is not None and fold(path[0]) != first:
        return used, path
    if any(s.names is not None and first in s.names for s in sources):
        return used, None
    if path is None:
        if len(used.parts) == 1 and all(s.names is not None for s in sources):
            raise unknown_column(used.name, table, used)
        return used, None
    if any(s.names is None for s in sources) or _is_output(used, query):
        raise _invalid(
            f'"{used.name}" in a query of the policy may be a column of {table.name} or of what'
            " the query reads",
            used,
            f"write {table.name.name}.{used.name}, or the alias of what the query reads before it",
        )
    return used, path


def _sources_around(
    used: exp.Column, query: exp.Query, found: dict[int, Relation]
) -> Iterator[_Source]:
    """The sources of the SELECTs between a column and the end of the policy's query."""
    select = used.find_ancestor(exp.Select)
    while select is not None:
        from_ = select.args.get("from_")
        nodes = [] if from_ is None else [from_.this]
        nodes += [join.this for join in select.args.get("joins") or []]
        nodes += select.args.get("laterals") or []
        for node in nodes:
            yield _source(node, found)
            for join in node.args.get("joins") or []:
                yield _source(join.this, found)
        select = select.find_ancestor(exp.Select)


def _source(node: exp.Expr, found: dict[int, Relation]) -> _Source:
    alias = node.args.get("alias")
    renamed = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    relation = found.get(id(node))
    names: frozenset[str] | None = None
    if renamed:
        names = None
    elif isinstance(relation, Table):
        names = frozenset(fold(c.name) for c in relation.columns)
    elif isinstance(relation, View):
        names = frozenset(map(fold, relation.columns))
    elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        shown = node.this.named_selects
        names = None if "*" in shown or "" in shown else frozenset(map(fold, shown))
    return _Source(fold(node.alias_or_name), names)


def _is_output(used: exp.Column, query: exp.Query) -> bool:
    """Whether a bare name is what a SELECT around calls one of its values."""
    select = used.find_ancestor(exp.Select)
    while select is not None:
        for shown in select.selects:
            if isinstance(shown, exp.Alias) and fold(shown.alias) == fold(used.name):
                return True
        select = select.find_ancestor(exp.Select)
    return False


def _invalid(message: str, node: exp.Expr, advice: str = _ADVICE) -> PalimpsestError:
    return PalimpsestError(
        Code.INVALID_DEFINITION, message, advice=advice, position=position_of(node)
    )
