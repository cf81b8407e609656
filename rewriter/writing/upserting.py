"""Upserts: new rows joined with the present rows of the same keys.

Either the pair is left alone, or the present row ends and its changed form begins. The lookup is
one join whose small side is the new rows, so its cost does not grow with the table. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.model.errors import Code
from journal.model.plan import Guard, Query, Stage, Step
from journal.model.row_policy import RowUse
from journal.model.schema import fold
from journal.model.trees import is_nested
from journal.model.triggers import INSERT
from journal.sql.relations import column, ident
from journal.sql.relations_flat import current_among, is_flat
from journal.sql.sql import all_of, any_of, limited, named, select
from journal.sql.unique_keys import UniqueKey
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import INTERNAL, VERSION
from rewriter.reading.key_lookup import Keys
from rewriter.reading.policies.conditions import row_security
from rewriter.reading.policies.security import differs_by_use, refuse_restricted
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.assignments import assignments
from rewriter.writing.changes import BEGINS, ENDS, OLD_VERSION, ChangeSet, new_name, old_name
from rewriter.writing.collations import uncollated
from rewriter.writing.guards import escape_format, refused_rows, row_guards, shown_values
from rewriter.writing.new_rows import ORDER, NewRows
from rewriter.writing.policy_guards import refuse_unseen, source_guards
from rewriter.writing.returning import ReturningClause
from rewriter.writing.row_triggers import fired, refuse_triggers
from rewriter.writing.statement_part import (
    PartNames,
    StatementPart,
    finish_part,
    fuse_part,
    mark_rewritten,
    staged_relation,
)
from rewriter.writing.target import AliasedTable, physical_rows
from rewriter.writing.upsert import ConflictAction, Upsert

_PLACE = f"{INTERNAL}place"


def upsert_part(
    reads: Reads,
    part: PartNames,
    rows: NewRows,
    target: AliasedTable,
    upsert: Upsert,
    result: ReturningClause,
) -> StatementPart:
    """The part of an INSERT that says what to do about conflicts."""
    if upsert.action is not ConflictAction.NOTHING and differs_by_use(target.table, reads.context):
        advice = "write INSERT and UPDATE, each of which has policies of its own"
        raise refuse_restricted("insert or update rows of", target.table, advice)
    reads_rows = result.node is not None or upsert.action is not ConflictAction.NOTHING
    reads_rows = reads_rows or upsert.names_arbiters
    use = RowUse.UPSERT if reads_rows else RowUse.INSERT
    if upsert.action is ConflictAction.REPLACE:
        advice = "write INSERT .. ON CONFLICT DO UPDATE"
        refuse_triggers(target.table, INSERT, "REPLACE", advice)
    builder = _Builder(reads, part, rows, target, upsert, use)
    match upsert.action:
        case ConflictAction.NOTHING:
            return builder.do_nothing_part(result)
        case ConflictAction.UPDATE:
            return builder.do_update_part(result)
        case ConflictAction.REPLACE if target.policies is not None:
            advice = "write INSERT .. ON CONFLICT DO UPDATE"
            raise refuse_restricted("replace rows of", target.table, advice)
        case ConflictAction.REPLACE:
            return builder.replace_part(result)


class _Builder:
    """Makes the staged relations of one upsert."""

    def __init__(
        self,
        reads: Reads,
        part: PartNames,
        rows: NewRows,
        target: AliasedTable,
        upsert: Upsert,
        use: RowUse,
    ) -> None:
        self._reads = reads
        self._rows = rows
        self._target = target
        self._table = target.table
        self._upsert = upsert
        self._source = part.relation_name("rows")
        self._stage = part.relation_name("changed")
        self._new = rows.query(ordered=True)
        self._steps: list[Step] = [
            *rows.steps,
            Stage(self._source, Query.of(self._new)),
            *rows.identity_steps(self._source),
        ]
        self._places = target.places()
        self._all = frozenset(self._places)
        met = fired(reads, self._inserted_changes, [ORDER])
        self._fires = bool(met.steps)
        self._steps += met.steps
        self._source = met.changes.stage
        source = staged_relation(self._source, "r")
        self._steps += source_guards(reads, self._table, source, "r", use)
        if semantics_of(reads.context.dialect).checks_first:
            self._steps += row_guards(self._inserted_changes)

    @property
    def _inserted_changes(self) -> ChangeSet:
        """The new rows, as if all of them were inserted."""
        return ChangeSet(self._table, self._source, False, True, self._all)

    @property
    def _takes_first(self) -> bool:
        return semantics_of(self._reads.context.dialect).upserts_first

    def do_nothing_part(self, result: ReturningClause) -> StatementPart:
        """New rows whose keys are free, the first of each key."""
        new = [column(new_name(i), "r") for i in range(len(self._places))]
        query = select(new, staged_relation(self._source, "r"))
        single = self._rows.row_count == 1
        for key in self._upsert.arbiters:
            query = query.where(self._key_is_free(key), copy=False)
            if not single and len(self._upsert.arbiters) == 1:
                query = query.where(self._no_earlier(key, None), copy=False)
        if not single and len(self._upsert.arbiters) > 1:
            self._steps.append(Stage(f"{self._source}_free", Query.of(self._with_order(query))))
            query = self._first_of_each(f"{self._source}_free")
        if self._keeps_order(result):
            query = query.order_by(column(ORDER, "r"), copy=False)
        changes = ChangeSet(self._table, self._stage, False, True, self._all, inserted=True)
        checked = frozenset(key.name for key in self._upsert.arbiters)
        fused = self._fused_part(changes, query, result, checked)
        if fused is not None:
            return fused
        self._steps.append(Stage(self._stage, Query.of(query)))
        return finish_part(self._reads, changes, self._steps, "INSERT", result, checked=checked)

    def _keeps_order(self, result: ReturningClause) -> bool:
        """True if RETURNING shall show the rows as they were given: clients match them by place."""
        return result.node is not None and self._rows.row_count != 1

    def _with_order(self, query: exp.Select) -> exp.Select:
        return query.select(column(ORDER, "r"))

    def _first_of_each(self, free: str) -> exp.Select:
        """The rows that an insertion one after another would keep, over several constraints.

        A row is kept when no earlier one shares a value. Where a row is only in conflict with rows
        that are themselves dropped, who wins depends on the order; those are refused by a guard.
        """
        kept = f"{free}_first"
        conditions = [self._no_earlier(key, free) for key in self._upsert.arbiters]
        first = exp.select("r.*").from_(staged_relation(free, "r")).where(*conditions)
        self._steps.append(Stage(kept, Query.of(first)))
        either = [self._same_row(key, "r", "f") for key in self._upsert.arbiters]
        winner = exp.select(exp.Literal.number(1)).from_(staged_relation(kept, "f"))
        winner = winner.where(exp.or_(*either))
        undecided = exp.select(exp.alias_(exp.Literal.number(1), "found"))
        undecided = undecided.from_(staged_relation(free, "r")).where(
            exp.Not(this=exp.Exists(this=winner))
        )
        self._steps.append(
            Guard(
                Query.of(undecided.limit(1)),
                Code.ROW_TWICE,
                "rows of the source are in conflict with one another over several constraints",
                "insert them in separate statements, or name one constraint: ON CONFLICT (..)",
            )
        )
        new = [column(new_name(i), "r") for i in range(len(self._places))]
        return exp.select(*new).from_(staged_relation(kept, "r"))

    def _values(self, key: UniqueKey, value: Callable[[str], exp.Expr]) -> list[exp.Expr]:
        """The values of a key, whose texts compare by their bytes as its constraint does."""
        equates = self._reads.context.capabilities.equates_texts

        def plain(name: str) -> exp.Expr:
            has_collation = self._table.by_physical(name).collation is not None
            return uncollated(value(name)) if equates and has_collation else value(name)

        return key.values(plain)

    def _new_values(self, key: UniqueKey, alias: str | None = None) -> list[exp.Expr]:
        """The values of a key in the new rows, which the alias names."""
        return self._values(key, lambda name: column(new_name(self._places[name]), alias))

    def _key_is_free(self, key: UniqueKey) -> exp.Expr:
        rows = physical_rows(self._reads, self._table, self._keys(key))
        present = mark_rewritten(self._among_new(rows, key, key.columns))
        assert isinstance(present, exp.Query)
        same = _equal(self._values(key, lambda name: column(name, "c")), self._new_values(key, "r"))
        taken = exp.select(exp.Literal.number(1)).from_(present.subquery("c")).where(*same)
        return exp.Not(this=exp.Exists(this=taken))

    def _among_new(self, rows: exp.Query, key: UniqueKey, names: Sequence[str]) -> exp.Query:
        """Current rows, of which those are enough that share the values of a key with new rows.

        ``names``: what the rows call the columns of the key.
        """
        is_key = key.is_plain and key.columns == self._table.key
        if not is_flat(self._table) or not is_key or self._keys(key):
            return rows
        return current_among(rows, names, self._source, self._new_values(key, "s"))

    def _same_row(self, key: UniqueKey, left: str, right: str) -> exp.Expr:
        same = _equal(self._new_values(key, left), self._new_values(key, right))
        return exp.paren(exp.and_(*same))

    def _no_earlier(self, key: UniqueKey, among: str | None) -> exp.Expr:
        """True unless a row before this one in the source has the same values."""
        values = self._new_values(key)
        names = [new_name(self._places[c]) for c in key.columns]
        outputs = values
        if not all(isinstance(value, exp.Column) for value in values):
            names = [f"{INTERNAL}k{place}" for place in range(len(values))]
            outputs = [named(v.copy(), n) for v, n in zip(values, names, strict=True)]
        firsts = exp.select(*outputs, exp.alias_(exp.Min(this=column(ORDER)), ORDER)).from_(
            staged_relation(among or self._source)
        )
        firsts = firsts.group_by(*values)
        same = _equal([column(n, "g") for n in names], self._new_values(key, "r"))
        earlier = exp.LT(this=column(ORDER, "g"), expression=column(ORDER, "r"))
        rows = exp.select(exp.Literal.number(1)).from_(firsts.subquery("g")).where(*same, earlier)
        return exp.Not(this=exp.Exists(this=rows))

    def do_update_part(self, result: ReturningClause) -> StatementPart:
        """New rows whose keys are free, and present rows changed where they are not."""
        (key,) = self._upsert.arbiters
        assigned = self._assigned_values()
        present = column(VERSION, self._target.alias)
        matched = exp.Not(this=exp.Is(this=present, expression=exp.Null()))
        outputs: list[exp.Expr] = [*self._target.old_values(), named(matched, ENDS)]
        for index, stored in enumerate(self._table.stored):
            new = self._excluded_value(stored.name)
            kept = self._target.stored_value(stored)
            changed = assigned.get(stored.physical, kept)
            value = exp.Case(ifs=[exp.If(this=matched.copy(), true=changed)], default=new)
            outputs.append(named(value, new_name(index)))
        self._refuse_hidden(key)
        ordered = self._keeps_order(result)
        query = self._join_present(outputs, key, ordered)
        if self._upsert.where is not None:
            condition = self._in_scope(self._upsert.where.copy())
            absent = exp.Is(this=present.copy(), expression=exp.Null())
            query = query.where(any_of(absent, exp.Paren(this=condition)), copy=False)
        if ordered:
            query = query.order_by(column(_PLACE, self._upsert.excluded), copy=False)
        holder = exp.Subquery(this=query)
        self._reads.rewrite(holder)
        written = frozenset(assigned) | self._all
        named_columns = frozenset(assigned)
        changes = ChangeSet(
            self._table, self._stage, ENDS, True, written, named=named_columns, inserted=True
        )
        # A trigger may give a row another key than the one that was looked up.
        keeps_key = not set(key.columns) & set(assigned) and not self._table.triggers
        checked = frozenset({key.name} if keeps_key else ())
        fused = self._fused_part(changes, holder.this, result, checked)
        if fused is not None:
            return fused
        if not self._takes_first:
            self._refuse_doubles(key)
        self._steps.append(Stage(self._stage, Query.of(holder.this)))
        return finish_part(self._reads, changes, self._steps, "INSERT", result, checked=checked)

    def _keys(self, key: UniqueKey) -> Keys | None:
        """The key of the only new row, if that is what conflicts are about."""
        is_key = key.is_plain and key.columns == self._table.key
        return self._rows.keys() if is_key and not self._fires else None

    def _fused_part(
        self, changes: ChangeSet, query: exp.Query, result: ReturningClause, checked: frozenset[str]
    ) -> StatementPart | None:
        """The part as one query, for a single row that is found by its key."""
        if self._fires or result.node is not None or self._rows.explicit:
            return None
        if self._target.policies is not None:
            return None
        if not all(self._keys(key) for key in self._upsert.arbiters):
            return None
        stages = [(self._source, self._new), (self._stage, query)]
        first = semantics_of(self._reads.context.dialect).checks_first
        return fuse_part(
            self._reads,
            changes,
            stages,
            "INSERT",
            numbers=self._rows.steps,
            checked=checked,
            brought=refused_rows(self._inserted_changes) if first else (),
        )

    def _assigned_values(self) -> dict[str, exp.Expr]:
        if self._upsert.assigned is None:
            same = {p for key in self._upsert.arbiters if key.is_plain for p in key.columns}
            given = [c for c in self._rows.given_columns if c.physical not in same]
            return {c.physical: self._excluded_value(c.name) for c in given}
        nodes = [self._in_scope(n.copy()) for n in self._upsert.assigned]
        return assignments(self._table, nodes, self._target.alias).values

    def _excluded_value(self, name: str) -> exp.Expr:
        return column(name, self._upsert.excluded)

    def _in_scope(self, node: exp.Expr) -> exp.Expr:
        """Bare columns mean the present row; VALUES(c) and the new row's names mean the new one."""
        for call in list(node.find_all(exp.Anonymous)):
            match call.expressions:
                case [exp.Expr() as written] if call.name.upper() == "VALUES":
                    call.replace(self._excluded_value(written.name))
        renamed = dict(
            zip(
                (fold(c) for c in self._upsert.excluded_columns),
                (c.name for c in self._rows.given_columns),
                strict=False,
            )
        )
        for used in list(node.find_all(exp.Column)):
            if fold(used.table) == fold(self._upsert.excluded):
                name = renamed.get(fold(used.name), used.name)
                used.set("this", ident(name))
            elif not used.table and not is_nested(used, node):
                found = self._table.find(used.name)
                default = isinstance(node, exp.EQ) and used is node.expression
                if found is not None and not (default and fold(used.name) == "default"):
                    used.set("table", ident(self._target.alias))
        return node

    def _join_present(self, outputs: list[exp.Expr], key: UniqueKey, ordered: bool) -> exp.Select:
        """New rows, each with the present row of the same key if there is one."""
        fields = [
            exp.Alias(this=column(new_name(i), "r"), alias=ident(c.name))
            for i, c in enumerate(self._table.stored)
        ]
        fields.append(named(column(ORDER, "r"), _PLACE))
        new = select(fields if ordered else fields[:-1], staged_relation(self._source, "r"))
        if self._takes_first and self._rows.row_count != 1:
            new = new.where(self._no_earlier(key, None), copy=False)
        same = _equal(self._present_values(key), self._logical_values(key, self._upsert.excluded))
        present = self._target.relation(self._reads, self._keys(key), self._upsert.where)
        if self._target.policies is None:
            names = [self._table.by_physical(c).name for c in key.columns]
            present.set("this", self._among_new(present.this, key, names))
        join = exp.Join(this=mark_rewritten(present), on=all_of(*same), side="LEFT")
        query = select(outputs, _aliased(new, self._upsert.excluded))
        query.append("joins", join)
        return query

    def _present_values(self, key: UniqueKey) -> list[exp.Expr]:
        target = self._target
        return self._values(key, lambda n: target.stored_value(self._table.by_physical(n)))

    def _logical_values(self, key: UniqueKey, alias: str) -> list[exp.Expr]:
        """The values of a key in rows whose columns have their logical names."""
        return self._values(key, lambda n: column(self._table.by_physical(n).name, alias))

    def _refuse_hidden(self, key: UniqueKey) -> None:
        """A guard that no new row is in conflict with one that the client does not see."""
        policies = row_security(self._reads, self._table)
        if policies is None or policies.seen is None:
            return
        present = mark_rewritten(physical_rows(self._reads, self._table, self._keys(key)))
        assert isinstance(present, exp.Query)
        same = _equal(self._values(key, lambda name: column(name, "c")), self._new_values(key, "r"))
        values = {c.physical: column(c.physical, "c") for c in self._table.stored}
        rows = select([], staged_relation(self._source, "r"))
        rows = rows.join(present.subquery("c"), on=all_of(*same), copy=False)
        self._steps.append(refuse_unseen(policies.unseen_rows(rows, values), self._table))

    def _refuse_doubles(self, key: UniqueKey) -> None:
        if self._rows.row_count == 1:
            return
        values = self._new_values(key)
        filled = [exp.Not(this=exp.Is(this=v.copy(), expression=exp.Null())) for v in values]
        doubles = select([shown_values(values)], staged_relation(self._source), *filled)
        doubles = doubles.group_by(*values, copy=False)
        many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
        doubles = limited(doubles.having(many, copy=False))
        shown_names = escape_format(key.value_names(self._table))
        self._steps.append(
            Guard(
                Query.of(doubles),
                Code.ROW_TWICE,
                f"two rows of the source have the same ({shown_names}) = ({{0}}),"
                " so the row would change twice",
                "make the source unique per key, with GROUP BY or DISTINCT ON",
            )
        )

    def replace_part(self, result: ReturningClause) -> StatementPart:
        """The last new row of each key; every present row in its way ends."""
        last = f"{self._source}_last"
        arbiters = self._upsert.arbiters
        later = exp.select(exp.Literal.number(1)).from_(staged_relation(self._source, "l"))
        either = [self._same_row(key, "l", "r") for key in arbiters]
        later = later.where(
            exp.or_(*either), exp.GT(this=column(ORDER, "l"), expression=column(ORDER, "r"))
        )
        rows = exp.select("r.*").from_(staged_relation(self._source, "r"))
        self._steps.append(Stage(last, Query.of(rows.where(exp.Not(this=exp.Exists(this=later))))))
        count = len(self._places)
        nothing_old = [exp.alias_(exp.Null(), old_name(i)) for i in range(count)]
        begun = exp.select(
            *nothing_old,
            exp.alias_(exp.Null(), OLD_VERSION),
            *[column(new_name(i), "r") for i in range(count)],
            exp.alias_(exp.false(), ENDS),
            exp.alias_(exp.true(), BEGINS),
        ).from_(staged_relation(last, "r"))
        in_the_way = [
            exp.Exists(
                this=exp.select(exp.Literal.number(1))
                .from_(staged_relation(last, "r"))
                .where(*_equal(self._present_values(key), self._new_values(key, "r")))
            )
            for key in arbiters
        ]
        ended = exp.select(
            *self._target.old_values(),
            *[exp.alias_(exp.Null(), new_name(i)) for i in range(count)],
            exp.alias_(exp.true(), ENDS),
            exp.alias_(exp.false(), BEGINS),
        ).from_(mark_rewritten(self._target.relation(self._reads)))
        ended = ended.where(exp.or_(*in_the_way))
        both = exp.union(ended, begun, distinct=False)
        self._steps.append(Stage(self._stage, Query.of(both)))
        changes = ChangeSet(self._table, self._stage, ENDS, BEGINS, self._all)
        result.only = BEGINS
        return finish_part(self._reads, changes, self._steps, "INSERT", result)


def _aliased(query: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=ident(alias)))


def _equal(left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> list[exp.Expr]:
    return [exp.EQ(this=one, expression=other) for one, other in zip(left, right, strict=True)]
