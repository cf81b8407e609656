"""BEFORE triggers of rows: what is staged goes through them before any guard looks at it.

One relation more is staged for each trigger that fires, in the order of their names. Guards,
journal rows, RETURNING and counts take the last one for what the statement writes. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Guard, Query, Stage, Step
from journal.model.schema import Table
from journal.model.trees import copy_tree
from journal.model.triggers import INSERT, UPDATE, Trigger
from journal.sql.relations import column
from journal.sql.sql import all_of, limited, named, named_table, relation, select, where
from rewriter.definitions.generated_values import generated_value
from rewriter.reading.read_rewriter import SETTLED, Reads
from rewriter.writing.changes import OLD_VERSION, ChangeSet, new_name, old_name
from rewriter.writing.trigger_programs import NEW, OLD, RowProgram
from rewriter.writing.trigger_words import trigger_program


@dataclass(frozen=True, slots=True)
class Fired:
    """The change set after the triggers, and the steps that make it.

    ``plain`` are its relations with their queries where these steps are nothing else.
    """

    changes: ChangeSet
    steps: tuple[Step, ...] = ()
    plain: tuple[tuple[str, exp.Query], ...] | None = ()
    skips: bool = False


def fired(reads: Reads, changes: ChangeSet, kept: Sequence[str] = ()) -> Fired:
    """What the triggers of a table make of staged changes; ``kept`` are further staged columns."""
    triggers = [t for t in firing(changes.table) if _events(t, changes)]
    found = Fired(changes)
    for trigger in triggers:
        programs = {
            event: trigger_program(trigger, event, changes.table, reads.context)
            for event in _events(trigger, changes)
        }
        found = _Firing(reads, found, programs).next_stage(kept)
    return found


def firing(table: Table, events: Collection[str] = (INSERT, UPDATE)) -> list[Trigger]:
    """The triggers of a table that are not switched off, in the order in which they fire."""
    found = (t for t in table.triggers if t.enabled and set(t.events) & set(events))
    return sorted(found, key=lambda trigger: trigger.name.encode())


def refuse_triggers(table: Table, event: str, what: str, advice: str) -> None:
    """Raise NOT_SUPPORTED for a way to write on which the triggers of a table would not fire."""
    for trigger in firing(table, (event,)):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{what} is not supported: {table.name} has the trigger {trigger.name}",
            advice=advice,
        )


def _events(trigger: Trigger, changes: ChangeSet) -> list[str]:
    """What of the changes a trigger fires for."""
    found: list[str] = []
    inserts = changes.ends is not True and changes.begins is not False and not changes.inserted
    if inserts and INSERT in trigger.events:
        found.append(INSERT)
    updates = changes.ends is not False and changes.begins is not False
    written = changes.written if changes.named is None else changes.named
    if updates and UPDATE in trigger.events:
        if not trigger.columns or set(trigger.columns) & written:
            found.append(UPDATE)
    return found


class _Firing:
    """One trigger over one staged relation."""

    def __init__(self, reads: Reads, before: Fired, programs: dict[str, RowProgram]) -> None:
        self.reads, self.before, self.changes = reads, before, before.changes
        self.programs = programs
        self.table = before.changes.table

    def next_stage(self, kept: Sequence[str]) -> Fired:
        """The changes after the trigger."""
        before, changes = self.before, self.changes
        guards = self.guards()
        assigned = frozenset().union(*(p.values for p in self.programs.values()))
        skips = any(p.skips is not None for p in self.programs.values())
        steps, plain = [*before.steps, *guards], None if guards else before.plain
        if assigned or skips:
            query = self.staged(assigned, kept)
            stage = f"{changes.stage}_t"
            steps.append(Stage(stage, Query.of(query)))
            plain = None if plain is None or skips else (*plain, (stage, copy_tree(query)))
            constants = {n: v for n, v in changes.constants.items() if n not in assigned}
            written = changes.written | assigned
            named_before = changes.written if changes.named is None else changes.named
            changes = replace(
                changes, stage=stage, written=written, constants=constants, named=named_before
            )
        return Fired(changes, tuple(steps), plain, before.skips or skips)

    def staged(self, assigned: frozenset[str], kept: Sequence[str]) -> exp.Select:
        """The rows after the trigger."""
        changes = self.changes
        outputs: list[exp.Expr] = []
        if changes.ends is not False:
            places = range(len(self.table.stored))
            outputs += [named(column(old_name(i), "s"), old_name(i)) for i in places]
            outputs.append(named(column(OLD_VERSION, "s"), OLD_VERSION))
        for index, stored in enumerate(self.table.stored):
            is_written = stored.physical in changes.written | assigned
            if (changes.ends is True and not is_written) or stored.generated is not None:
                continue
            value = changes.new_value(index, stored)
            if stored.physical in assigned:
                value = self.value(stored.physical, value)
            outputs.append(named(value, new_name(index)))
        flags = [f for f in (changes.ends, changes.begins) if isinstance(f, str)]
        outputs += [named(column(name, "s"), name) for name in dict.fromkeys((*flags, *kept))]
        skips = [
            exp.Not(this=exp.paren(all_of(*self.of_event(event), self.bound(program.skips))))
            for event, program in self.programs.items()
            if program.skips is not None
        ]
        query = select(outputs, self.source())
        return self.rewritten_query(self.with_generated(where(query, *skips) if skips else query))

    def with_generated(self, rows: exp.Select) -> exp.Select:
        """New rows with the values of generated columns, which are told from the others."""
        table = self.table
        made = [c for c in table.columns if c.generated is not None]
        if self.changes.ends is not False or not made:
            return rows
        places = {c.physical: new_name(i) for i, c in enumerate(table.stored)}
        outputs: list[exp.Expr] = [column(name, "g") for name in rows.named_selects]
        for stored in made:
            value = generated_value(table, stored, lambda name: column(places[name], "g"))
            outputs.append(named(value, places[stored.physical]))
        return select(outputs, relation(rows, "g"))

    def guards(self) -> list[Step]:
        """That no row is an error."""
        found: list[Step] = []
        for event, program in self.programs.items():
            for condition, raised, text in program.raised:
                query = select([named(self.bound(text), "said")], self.source())
                query = where(query, *self.of_event(event), self.bound(condition))
                code = next((c for c in Code if c.value.sqlstate == raised.sqlstate), Code.RAISED)
                advice = raised.advice or "the function of a trigger raised this error"
                rows = self.rewritten_query(limited(query))
                found.append(Guard(Query.of(rows), code, "{0}", advice))
        return found

    def value(self, physical: str, before: exp.Expr) -> exp.Expr:
        """The new value of a column, each event's for its rows."""
        values = {
            event: self.bound(program.values[physical])
            for event, program in self.programs.items()
            if physical in program.values
        }
        ifs: list[exp.If] = []
        for event, value in values.items():
            of_event = self.of_event(event)
            if not of_event:
                return value
            ifs.append(exp.If(this=all_of(*of_event), true=value))
        return exp.Case(ifs=ifs, default=before)

    def of_event(self, event: str) -> list[exp.Expr]:
        """The conditions of rows that are inserted or updated; none where all of them are."""
        ends, begins = self.changes.ends, self.changes.begins
        found: list[exp.Expr] = []
        if isinstance(ends, str):
            ended: exp.Expr = column(ends, "s")
            found.append(ended if event == UPDATE else exp.Not(this=ended))
        if isinstance(begins, str):
            found.append(column(begins, "s"))
        return found

    def bound(self, expression: exp.Expr) -> exp.Expr:
        """An expression over the staged rows."""
        holder = exp.Paren(this=copy_tree(expression))
        places = {c.name: (i, c) for i, c in enumerate(self.table.stored)}
        for used in list(holder.find_all(exp.Column)):
            if used.table not in {NEW, OLD} or used.name not in places:
                continue
            index, stored = places[used.name]
            is_old = used.table == OLD
            value: exp.Expr = column(old_name(index), "s")
            if not is_old and not (stored.generated is not None and self.changes.ends is True):
                value = exp.paren(self.changes.new_value(index, stored), copy=False)
            used.replace(value)
        found: exp.Expr = holder.this
        return exp.paren(found, copy=False)

    def source(self) -> exp.Expr:
        """The relation that was staged last."""
        rows = named_table(self.changes.stage, "s")
        rows.meta[SETTLED] = True
        return rows

    def rewritten_query(self, query: exp.Select) -> exp.Select:
        """The query with the user's name, the time and what else the session says."""
        holder = exp.Subquery(this=query)
        self.reads.rewrite(holder)
        found = holder.this
        assert isinstance(found, exp.Select)
        return found
