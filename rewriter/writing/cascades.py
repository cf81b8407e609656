"""What foreign keys do to rows that refer to changed ones: further change sets of the statement.

Parents' changes are staged already; each turn stages the rows of one child that they hit, joined
by the values that went. A table that the statement changes itself, or that is hit twice, gets one
change set that holds all of it: a row ends once and begins at most once. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from sqlglot import exp

from journal.model.errors import Code
from journal.model.foreign_key import ReferenceAction
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Guard, Query, Stage, Step
from journal.model.schema import Table
from journal.model.triggers import UPDATE
from journal.sql.relations import Output, column, union_all, version_type
from journal.sql.sql import all_of, any_of, cast, named, named_table, relation, select, where
from rewriter.definitions.cascade_order import CascadeTurn, cascade_turns
from rewriter.definitions.generated_values import with_generated
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.cascade_events import TREE, CascadeEvent, event_of, tree_query
from rewriter.writing.changes import BEGINS, ENDS, OLD_VERSION, ChangeSet, new_name, old_name
from rewriter.writing.reference_values import (
    anti_join,
    column_places,
    equal_conditions,
    flag_conditions,
)
from rewriter.writing.row_triggers import fired, firing, refuse_triggers
from rewriter.writing.target import convert_value, default_value

_CHANGED = f"{BEGINS}_changed"
"""Says which rows the statement had changed before a turn."""


@dataclass(frozen=True, slots=True)
class Cascades:
    """The steps that stage what foreign keys do, and the change sets of the tables they reach."""

    steps: tuple[Step, ...] = ()
    changes: tuple[ChangeSet, ...] = ()


def cascades_of(reads: Reads, roots: Sequence[ChangeSet]) -> Cascades:
    """What the changes of a statement bring about; nothing, where no foreign key acts."""
    references = reads.context.catalog.references
    deleted = {c.table.id for c in roots if c.ends is not False and c.begins is not True}
    written = {
        c.table.id: c.written for c in roots if c.ends is not False and c.begins is not False
    }
    turns = cascade_turns(references, deleted, written, with_generated)
    if not turns:
        return Cascades()
    builder = _CascadeBuilder(reads, {c.table.id: c for c in roots})
    for turn in turns:
        builder.take_turn(turn)
    ids = dict.fromkeys(turn.child.id for turn in turns)
    found = tuple(builder.changes[i] for i in ids)
    return Cascades((*builder.steps, _row_limit_guard(reads, roots, found)), found)


def _row_limit_guard(reads: Reads, roots: Sequence[ChangeSet], found: Sequence[ChangeSet]) -> Guard:
    """A guard that no more rows are reached than the session allows."""
    most = reads.context.limits.cascade_rows
    own = {c.table.id: c for c in roots}
    total: exp.Expr = exp.Literal.number(0)
    for changes in found:
        total = exp.Add(this=total, expression=_row_count(changes))
        if changes.table.id in own:
            total = exp.Sub(this=total, expression=_row_count(own[changes.table.id]))
    counted = exp.Select(expressions=[named(total, "reached")])
    rows = select([exp.column("reached")], relation(counted, "c"))
    over = exp.GT(this=exp.column("reached"), expression=exp.Literal.number(most))
    return Guard(
        Query.of(where(rows, over)),
        Code.CASCADE_ROWS,
        f"foreign keys would change {{0}} further rows, at most {most:,} are taken"
        " (max_cascade_rows)",
        "change fewer rows in a statement, or raise max_cascade_rows",
    )


def _row_count(changes: ChangeSet) -> exp.Expr:
    rows = select([exp.Count(this=exp.Star())], named_table(changes.stage))
    return exp.Subquery(this=rows)


@dataclass(slots=True)
class _CascadeBuilder:
    """Steps as they are made, and the newest change set of each table."""

    reads: Reads
    changes: dict[int, ChangeSet]
    steps: list[Step] = field(default_factory=list)

    def take_turn(self, turn: CascadeTurn) -> None:
        """Stage what the actions of a turn do to their table."""
        table, number = turn.child, len(self.steps)
        before, tree = self.changes.get(table.id), ""
        if turn.actions[0].deletes and turn.actions[0].is_own:
            assert before is not None
            tree = f"{TREE}_{number}"
            keys = [a.reference.key for a in turn.actions]
            query = tree_query(before, keys, self._tree_rows(before))
            self.steps.append(Stage(tree, Query.of(query)))
            events = [CascadeEvent.of_tree(table, tree)]
        else:
            events = [
                event_of(self.changes[a.reference.parent.id], a, f"e{i}")
                for i, a in enumerate(turn.actions)
            ]
        stage = f"p_cascade_{number}"
        whole = before is None or (before.begins is False and bool(tree))
        if whole:
            made = self._hit_rows(table, events, stage)
        else:
            assert before is not None
            made = self._merged(before, events, stage)
        if not turn.actions[0].deletes:
            made = self._fired(made, events, is_whole=whole)
        self.changes[table.id] = made

    def _fired(
        self, made: ChangeSet, events: Sequence[CascadeEvent], *, is_whole: bool
    ) -> ChangeSet:
        """The changes after the triggers of the table, which fire for each row that is hit."""
        table = made.table
        assigned = frozenset().union(*(e.columns for e in events))
        if not firing(table, (UPDATE,)):
            return made
        found = fired(self.reads, replace(made, named=assigned))
        if not found.steps:
            return made
        references = self.reads.context.catalog.references.get(table.id, ())
        theirs = {c for r in references if r.parent.id == table.id for c in r.key.parent_columns}
        if not is_whole or found.skips or theirs & (found.changes.written - made.written):
            why = "write the rows that refer to others yourself, before those"
            refuse_triggers(table, UPDATE, f"a foreign key that changes {table.name} so", why)
        self.steps += found.steps
        return found.changes

    def _tree_rows(self, before: ChangeSet) -> exp.Query:
        """Rows that may be deleted with others of their table, with staged names."""
        table = before.table
        if before.begins is False:
            return self.reads.relation(table, _old_outputs(table, new=True))
        living = self._rows_now(before)
        return select([exp.Star()], relation(living, "l"), column(ENDS, "l"), column(BEGINS, "l"))

    def _hit_rows(self, table: Table, events: Sequence[CascadeEvent], stage: str) -> ChangeSet:
        """The change set of a table that nothing has changed so far."""
        deletes = events[0].deletes
        written = frozenset().union(*(e.columns for e in events if not e.deletes))
        outputs: list[exp.Expr] = [column(name, "s") for _, name in _old_outputs(table)]
        places = column_places(table)
        for physical in sorted(written, key=places.__getitem__):
            value = _set_value(table, physical, events, old_name)
            outputs.append(named(value, new_name(places[physical])))
        rows = self.reads.relation(table, _old_outputs(table))
        query = select(outputs, relation(rows, "s"))
        kind = "INNER" if len(events) == 1 else "LEFT"
        for event in events:
            query.append("joins", event.join(table, old_name, kind, ()))
        if kind == "LEFT":
            query = where(query, any_of(*[e.hit for e in events]))
        self.steps.append(Stage(stage, Query.of(query)))
        return ChangeSet(table, stage, True, not deletes, written)

    def _merged(self, before: ChangeSet, events: Sequence[CascadeEvent], stage: str) -> ChangeSet:
        """The change set of a table that has one already: both, each row once."""
        table = before.table
        places = column_places(table)
        dies = any_of(*[e.hit for e in events if e.deletes]) if events[0].deletes else None
        written = before.written.union(*(e.columns for e in events if not e.deletes))
        outputs: list[exp.Expr] = [column(name, "s") for _, name in _old_outputs(table)]
        for stored in table.stored:
            value: exp.Expr = column(new_name(places[stored.physical]), "s")
            if any(stored.physical in e.columns for e in events if not e.deletes):
                value = _set_value(table, stored.physical, events, new_name)
            if stored.generated is None:
                outputs.append(named(value, new_name(places[stored.physical])))
        begins: exp.Expr = column(BEGINS, "s")
        if dies is not None:
            begins = all_of(begins, exp.Not(this=exp.Paren(this=dies)))
        outputs += [named(column(ENDS, "s"), ENDS), named(begins, BEGINS)]
        query = select(outputs, relation(self._rows_now(before), "s"))
        for event in events:
            alive = (column(ENDS, "s"), column(BEGINS, "s"))
            query.append("joins", event.join(table, new_name, "LEFT", alive))
        query = where(query, any_of(column(_CHANGED, "s"), *[e.hit for e in events]))
        self.steps.append(Stage(stage, Query.of(query)))
        return ChangeSet(table, stage, ENDS, BEGINS, written)

    def _rows_now(self, before: ChangeSet) -> exp.Query:
        """All rows of a table as they are after its changes so far, with those that end."""
        table = before.table
        yes, no = exp.true(), exp.false()
        current = self.reads.relation(table, _old_outputs(table, new=True))
        outputs = [column(name, "c") for _, name in _old_outputs(table, new=True)]
        flags = [named(yes.copy(), ENDS), named(yes.copy(), BEGINS), named(no.copy(), _CHANGED)]
        kept = select([*outputs, *flags], relation(current, "c"))
        places = column_places(table)
        if before.ends is not False:
            keys = [old_name(places[k]) for k in table.key]
            same = equal_conditions([column(k, "c") for k in keys], [column(k, "e") for k in keys])
            ended = flag_conditions(before.ends, "e")
            kept.append("joins", anti_join(before.stage, "e", [*same, *ended]))
        return union_all([kept, self._changed_rows(before)])

    def _changed_rows(self, before: ChangeSet) -> exp.Query:
        table = before.table
        outputs: list[exp.Expr] = []
        for index, stored in enumerate(table.stored):
            old: exp.Expr = column(old_name(index), "s")
            if before.ends is False:
                old = cast(exp.Null(), stored.type)
            outputs.append(named(old, old_name(index)))
        version: exp.Expr = column(OLD_VERSION, "s")
        if before.ends is False:
            version = cast(exp.Null(), version_type(table))
        outputs.append(named(version, OLD_VERSION))
        for index, stored in enumerate(table.stored):
            value: exp.Expr = column(old_name(index), "s")
            if before.begins is not False:
                value = before.new_value(index, stored)
            outputs.append(named(value, new_name(index)))
        for name, flag in ((ENDS, before.ends), (BEGINS, before.begins)):
            shown: exp.Expr = exp.Boolean(this=flag)
            if isinstance(flag, str):
                shown = column(flag, "s")
            outputs.append(named(shown, name))
        outputs.append(named(exp.true(), _CHANGED))
        return before.staged_rows(outputs)


def _old_outputs(table: Table, *, new: bool = False) -> list[Output]:
    """A table's rows under staged names; with ``new`` as rows that begin with the same values."""
    found: list[Output] = [(column(c.physical), old_name(i)) for i, c in enumerate(table.stored)]
    found.append((column(table.format.version_column), OLD_VERSION))
    if new:
        found += [(column(c.physical), new_name(i)) for i, c in enumerate(table.stored)]
    return found


def _set_value(
    table: Table, physical: str, events: Sequence[CascadeEvent], name: Callable[[int], str]
) -> exp.Expr:
    """The value that events give a column; where none hits, the one that ``name`` gives."""
    stored = table.by_physical(physical)
    place = column_places(table)[physical]
    found = exp.Case()
    givers = [e for e in events if physical in e.columns and not e.deletes]
    for event in givers:
        found = found.when(event.hit, _replacement(event, physical, table), copy=False)
    if len(events) == 1 and name is old_name:
        return convert_value(_replacement(givers[0], physical, table), stored)
    kept: exp.Expr = column(name(place), "s")
    return convert_value(found.else_(kept, copy=False), stored)


def _replacement(event: CascadeEvent, physical: str, table: Table) -> exp.Expr:
    if event.action is ReferenceAction.SET_NULL:
        return exp.Null()
    if event.action is ReferenceAction.SET_DEFAULT:
        return default_value(table.by_physical(physical))
    return event.new_value(physical)
