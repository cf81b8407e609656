"""Applies row policies and masks to the tables that a role reads.

    SELECT CASE WHEN seen THEN mask END AS c, .. FROM (rows) WHERE seen AND fence

A condition with queries is computed once, as a column of the rows, and ``seen`` names that.

Every relation that a statement of the role names is put into such a query, whatever version it
shows, so that all the role's own expressions lie above. The optimizer of a store may still move
them below the condition: a ``fence`` that it may not cross stands beside it, and where one crosses
it all the same it meets NULLs. The idea is that of PostgreSQL's security barriers; policies that go
by who asks, through views as well, are those of Snowflake and Unity Catalog. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from sqlglot import exp

from journal.model.access import VALUE, ObjectKey, ObjectKind, Rights
from journal.model.capabilities import Capabilities
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.row_policy import RowUse
from journal.model.schema import Column, Table, fold, relation_key
from journal.model.trees import copy_tree
from journal.sql.relations import column, ident
from journal.sql.sql import all_of, cast, named, select, where
from rewriter.context import RewriteContext
from rewriter.definitions.policy_sources import columns_of_row, outer_queries
from rewriter.definitions.shown_columns import columns_showing
from rewriter.definitions.table_policies import IS_ROLE
from rewriter.definitions.tags import mask_place
from rewriter.name_resolution import INTERNAL, position_of
from rewriter.reading.fences import fenced
from rewriter.reading.policies.leakproof import narrowed_rows
from rewriter.users import stored_expression

_PLAIN_STARS = (exp.Count, exp.Column, exp.Update, exp.Insert)
"""Where a star stands for no row: COUNT(*), and SET * and INSERT * of a MERGE for its source's."""
POLICIES = "policies"
"""The shape of a relation whose rows or columns the client sees under policies."""
_ROWS = f"{INTERNAL}rows"
_RAW = f"{INTERNAL}raw"
_SEEN = f"{INTERNAL}seen"


@dataclass(frozen=True, slots=True)
class RowSecurity:
    """The policies of a table for one role: ``seen`` is a condition over physical names, None: all
    rows; ``masks`` are values by physical column.

    Queries in the condition still name tables: ``policy_conditions`` gives one that is rewritten,
    and rows are shown and checked by no other.
    """

    table: Table
    seen: exp.Expr | None
    masks: Mapping[str, exp.Expr]
    capabilities: Capabilities = field(default_factory=Capabilities)

    @staticmethod
    def of(table: Table, context: RewriteContext, use: RowUse = RowUse.READ) -> RowSecurity | None:
        """The policies that the client has a table under, None where there are none.

        ``seen`` then is the condition of rows that it may have for this use.
        """
        if context.role is None or context.catalog.is_own(table.name):
            return None
        rights = context.rights
        key = relation_key(table)
        of_tags = rights.tag_masks_on(key)
        found = rights.policies_on(key)
        if not found and not of_tags:
            return None
        conditions: dict[str, exp.Expr] = {}
        masks: dict[str, exp.Expr] = {}
        for policy in found:
            value = _for_role(stored_expression(policy.expression), rights)
            if policy.column:
                masks[policy.column] = value
            else:
                conditions[policy.of] = value
        done: set[tuple[str, str]] = set()
        for mask in of_tags:
            shown = {
                one.column: _for_role(stored_expression(one.expression), rights)
                for one in mask.masks
            }
            behind = columns_showing(table, mask.column)
            for stored in table.columns:
                place = (fold(mask.tag), stored.physical)
                if place not in done and (not mask.column or stored.physical in behind):
                    done.add(place)
                    before = masks.get(stored.physical, column(stored.physical))
                    masks[stored.physical] = _tag_masked(stored, before, shown)
        known = {c.physical for c in table.columns}
        kept = {name: value for name, value in masks.items() if name in known}
        return RowSecurity(table, _for_use(conditions, use), kept, context.capabilities)

    @property
    def masked(self) -> frozenset[str]:
        """The physical names of masked columns."""
        return frozenset(self.masks)

    @property
    def has_queries(self) -> bool:
        """Whether other tables decide which rows are seen."""
        return self.seen is not None and bool(outer_queries(self.seen))

    def unseen_rows(self, rows: exp.Select, value_of: Mapping[str, exp.Expr]) -> exp.Select:
        """A query with a row for each of ``rows`` that is not seen.

        ``rows`` has sources and conditions, and is used up; ``value_of`` are the values of the
        row's physical columns over its sources.
        """
        found = named(exp.Literal.number(1), "found")
        if not self.has_queries:
            return where(rows.select(found, append=False, copy=False), self._unseen(value_of))
        # Names in the queries could hide those of the sources.
        values = [named(value, name) for name, value in value_of.items()]
        inner = rows.select(*values, append=False, copy=False).subquery(ident(_ROWS))
        unseen = self._unseen({name: column(name, _ROWS) for name in value_of})
        return select([found], inner, unseen)

    def unseen(self, value_of: Mapping[str, exp.Expr]) -> exp.Expr:
        """The condition of rows that are not seen, over values by physical column."""
        assert not self.has_queries
        return self._unseen(value_of)

    def _unseen(self, value_of: Mapping[str, exp.Expr]) -> exp.Expr:
        seen = exp.Coalesce(this=self.seen_by(value_of), expressions=[exp.false()])
        return exp.Not(this=seen)

    def seen_by(self, value_of: Mapping[str, exp.Expr]) -> exp.Expr:
        """The condition of rows that are seen, over values by physical column."""
        return exp.true() if self.seen is None else _with_values(self.seen, value_of)

    def shown_rows(
        self,
        query: exp.Query,
        names: Sequence[str],
        raw: Iterable[Column] = (),
        *,
        filters: bool = True,
        at: exp.Table | None = None,
    ) -> exp.Select:
        """A query of relation rows as the role sees them; ``names`` are its columns.

        Business columns have their logical names there. With ``raw`` these stored columns stand
        beside them as they are, under names of ``raw_name``. ``filters``: leave rows out as well.
        ``at``: where they are read, whose conditions are asked before, as far as that is safe.
        """
        values = {c.physical: column(c.name, _ROWS) for c in self.table.columns}
        by_name = {c.name: c for c in self.table.columns}
        seen = None if self.seen is None or not filters else _with_values(self.seen, values)
        if seen is not None and at is not None:
            query = narrowed_rows(query, at, self.table, self.masked)
        if seen is not None and self.has_queries:
            inner = exp.Subquery(this=query, alias=exp.TableAlias(this=ident(_ROWS)))
            query = exp.select("*", named(seen, _SEEN), copy=False).from_(inner, copy=False)
            seen = column(_SEEN, _ROWS)
        outputs = []
        for name in names:
            value: exp.Expr = column(name, _ROWS)
            stored = by_name.get(name)
            if stored is not None and stored.physical in self.masks:
                value = cast(_with_values(self.masks[stored.physical], values), stored.type)
            outputs.append(named(_where_seen(value, seen), name))
        outputs += [named(column(c.name, _ROWS), raw_name(c.physical)) for c in raw]
        rows = exp.Subquery(this=query, alias=exp.TableAlias(this=ident(_ROWS)))
        found = exp.select(*outputs, copy=False).from_(rows, copy=False)
        if seen is None:
            return found
        condition: exp.Expr = exp.Paren(this=seen)
        return fenced(found.where(condition, copy=False), self.capabilities)


def _for_use(conditions: Mapping[str, exp.Expr], use: RowUse) -> exp.Expr | None:
    """The condition of rows for a use; what a statement reads has to be seen as well."""
    seen = conditions.get(RowUse.READ)
    own = conditions.get(RowUse.INSERT if use is RowUse.UPSERT else use)
    if own is None or seen is None:
        return seen
    return own if use is RowUse.INSERT else all_of(exp.paren(seen), exp.paren(own))


def differs_by_use(table: Table, context: RewriteContext) -> bool:
    """Whether row policies say other things to the client for reading and for writing."""
    if context.role is None or context.catalog.is_own(table.name):
        return False
    return any(p.of for p in context.rights.policies_on(relation_key(table)))


def masked_columns(table: Table, context: RewriteContext) -> frozenset[str]:
    """The physical names of the columns whose values the client does not see."""
    found = RowSecurity.of(table, context)
    return frozenset() if found is None else found.masked


def hides_journal(table: Table, context: RewriteContext) -> bool:
    """Whether the client may not see the rows that a journal holds as they are."""
    made = table.materialized
    return is_restricted((table.id, *(() if made is None else made.sources)), context)


def check_journal(table: Table, context: RewriteContext) -> None:
    """Raise PRIVILEGE where the client may not read a journal, which holds rows as they are."""
    if hides_journal(table, context):
        raise refuse_restricted("read the journal of", table, "read table_history of it")


def is_restricted(tables: Iterable[int], context: RewriteContext) -> bool:
    """Whether the client reads any of some tables, by their ids, under policies."""
    if context.role is None:
        return False
    rights = context.rights
    return any(rights.is_restricted(ObjectKey(ObjectKind.TABLE, found)) for found in tables)


def raw_name(physical: str) -> str:
    """Under which name a statement that writes has a masked column as it is."""
    return f"{_RAW}_{physical}"


def check_no_raw(ast: exp.Expr, alias: str, table: Table) -> None:
    """Raise NOT_SUPPORTED where a statement may name all that its target has, masked or not."""
    known = {fold(c.name) for c in table.columns}
    for node in ast.walk():
        whole = isinstance(node, (exp.Columns, exp.PositionalColumn))
        if isinstance(node, exp.Column):
            name = fold(node.name)
            whole = name.startswith(_RAW)
            is_star = isinstance(node.this, exp.Star)
            whole |= is_star and fold(node.table) in {fold(alias), fold(table.name.name)}
            whole |= not node.table and name in {fold(alias), fold(table.name.name)} - known
        elif isinstance(node, exp.Star) and not isinstance(node.parent, _PLAIN_STARS):
            inner = node.find_ancestor(exp.Select, exp.Returning)
            whole = inner is None
        if whole:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"columns of {table.name} are masked, so a statement that changes it cannot name"
                " all of them at once",
                advice="name the columns",
                position=position_of(node),
            )


def refuse_restricted(what: str, table: Table, advice: str) -> PalimpsestError:
    """The error for what policies cannot be applied to."""
    return PalimpsestError(
        Code.PRIVILEGE,
        f"permission denied to {what} {table.name}: policies on it, or on a table that it is"
        " made of, apply to the role",
        advice=advice,
    )


def _where_seen(value: exp.Expr, seen: exp.Expr | None) -> exp.Expr:
    if seen is None:
        return value
    return exp.Case(ifs=[exp.If(this=seen.copy(), true=value)])


def _with_values(value: exp.Expr, value_of: Mapping[str, exp.Expr]) -> exp.Expr:
    """An expression over physical names with these values in their place; others are NULL."""
    held = exp.Paren(this=copy_tree(value))
    for used in list(columns_of_row(held)):
        found = value_of.get(used.name)
        used.replace(exp.Null() if found is None else found.copy())
    return held


def _tag_masked(stored: Column, value: exp.Expr, masks: Mapping[str, exp.Expr]) -> exp.Expr:
    """A column's value behind the mask of a tag for its type; NULL where there is none."""
    mask = masks.get(mask_place(stored.type))
    if mask is None:
        return cast(exp.Null(), stored.type)
    return _with_values(mask, {VALUE: exp.Paren(this=value)})


def _for_role(value: exp.Expr, rights: Rights) -> exp.Expr:
    """An expression in which tests of roles are answered."""
    held = exp.Paren(this=value)
    for call in list(held.find_all(exp.Anonymous)):
        if call.name.lower() == IS_ROLE:
            answer = int(call.expressions[0].name) in rights.names
            call.replace(exp.true() if answer else exp.false())
    return held
