"""Plans an ALTER: the new definition, and a rewrite of rows whose values change.

Rows are checked for what the definition says of the columns that it concerns. Pure.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code
from journal.model.foreign_key import ForeignKey
from journal.model.plan import Append, Change, Guard, PutRelation, Query, SkipNumbers, Stage, Step
from journal.model.schema import ROW_ID, Reference, Table
from journal.model.sequence_changes import DropSequence
from journal.sql.relations import Output, Reader, column
from journal.sql.sql import cast
from journal.sql.unique_keys import UniqueKey, further_keys, unique_keys
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.generated_values import columns_read as reads_of
from rewriter.definitions.generated_values import with_generated
from rewriter.definitions.new_relations import validation_guard
from rewriter.definitions.policies import hold_guard_steps
from rewriter.definitions.row_columns import columns_of
from rewriter.definitions.sequences import identity_continued, owned_by
from rewriter.definitions.whole_numbers import are_whole, lost_bounds
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import OLD_VERSION, ChangeSet, append_step, new_name, old_name
from rewriter.writing.guards import guard_steps, no_doubles
from rewriter.writing.references import parents_of
from rewriter.writing.rekeyed_rows import moving_steps, new_row_ids

STAGE = "altered"


def altering_steps(
    reads: Reads, change: Alteration, old: Table, new: Table, stage: str = STAGE
) -> list[Step]:
    """Steps that check the rows there are, put the new definition, and write rows anew if need be.

    ``stage`` is the relation of the rows, of each table its own.
    """
    context = reads.context
    steps: list[Step] = [validation_guard(new), *hold_guard_steps(old, new, context.catalog)]
    append: Append | None = None
    is_moved = new.id != old.id
    if not is_moved:
        steps += _lost_keys(reads, old, new)
    else:
        numbered, change.values[ROW_ID] = new_row_ids(new)
        steps.append(numbered)
        change.concerned |= {c.physical for c in new.stored}
    added = change.keys_to_check(new)
    for key in added:
        change.concerned |= {*key.columns, *(key.parent_columns if key.parent == new.id else ())}
    if change.concerned or change.rewritten:
        written = _plan_with_checks(new, change.concerned | change.rewritten)
        made = [c for c in new.columns if c.generated is not None]
        if with_generated(new, frozenset(written)) & {c.physical for c in made}:
            # Their values are told from those of the others, which must be at hand.
            written |= {c.physical for c in made}.union(*(reads_of(c) for c in made))
            written = _plan_with_checks(new, written)
        changes = ChangeSet(new, stage, not is_moved, True, frozenset(written), anew=True)
        steps.append(Stage(stage, Query.of(_staged_rows(reads, change, old, changes))))
        keys = unique_keys(new)
        steps += guard_steps(changes, exp.select, checked=frozenset(k.name for k in keys))
        late = [k for k in further_keys(new) if set(k.columns) & written]
        steps += [_unique_guard(changes, key) for key in late]
        steps += [_parent_guard(reads, changes, k) for k in added]
        if change.rewritten or is_moved:
            append = replace(append_step(changes), per_change=None)
    if is_moved:
        steps += moving_steps(old, new, context)
    else:
        moved = None if new.name == old.name else old.name
        steps.append(Change(PutRelation(new, instead_of=moved)))
    for stored in (c for c in new.columns if c.physical in change.continued):
        goes_on = identity_continued(old, stored, context)
        steps += [] if goes_on is None else [goes_on]
    there = {c.physical for c in new.columns}
    for lost in (c for c in old.columns if c.physical not in there):
        owned = owned_by(context, old.id, lost.physical)
        steps += [Change(DropSequence(sequence.name)) for sequence in owned]
    if append is not None:
        steps.append(append)
        steps += _skipped_numbers(old, new, stage)
    return steps


def _lost_keys(reads: Reads, old: Table, new: Table) -> list[Guard]:
    """Guards that every key the journal holds has a place in a key column's new type.

    Also keys of rows that ended: a row is told to have ended by its key.
    """
    found: list[Guard] = []
    for name in new.key:
        before, after = old.by_physical(name), new.by_physical(name)
        if before.type == after.type or not are_whole(before.type, after.type):
            continue
        bounds = lost_bounds(before.type, after.type)
        if bounds is None:
            continue
        rows = _journal_rows(reads, old, [(column(name), "key")]).subquery("w")
        low, high = (exp.convert(bound) for bound in bounds)
        outside = exp.Not(this=exp.Between(this=column("key", "w"), low=low, high=high))
        beyond = exp.select(column("key", "w")).from_(rows).where(outside).limit(1)
        message = (
            f'key column "{after.name}" of {new.name} cannot be {after.type}:'
            " a row, perhaps one that ended, has the key {0}"
        )
        advice = "leave the wider type; rows that ended keep their keys until a retention"
        found.append(Guard(Query.of(beyond), Code.OUT_OF_RANGE, message, advice))
    return found


def _journal_rows(reads: Reads, table: Table, outputs: list[Output]) -> exp.Query:
    """Every row of a journal as it was written, also what ended or is hidden."""
    reads.tables[table.id] = table
    reads.names.add(table.name)
    return Reader(table, reads.context.scan_info(table.id).tiers).journal(outputs)


def _skipped_numbers(old: Table, new: Table, stage: str) -> list[Step]:
    """That an identity which was added goes on behind the numbers of the rows there are."""
    there = {c.physical for c in old.columns}
    found: list[Step] = []
    for index, stored in enumerate(new.stored):
        made = stored.identity
        if made is None or stored.physical in there:
            continue
        highest = exp.Max if made.increment > 0 else exp.Min
        query = exp.select(highest(this=column(new_name(index)))).from_(stage)
        counter = made.counted_as(stored.physical)
        query_of = Query.of(query)
        found.append(SkipNumbers(new.id, counter, made.first, made.increment, query_of))
    return found


def _plan_with_checks(table: Table, columns: set[str]) -> set[str]:
    """Columns, and all that checks and UNIQUE constraints look at together with one of them."""
    groups: list[AbstractSet[str]] = [columns_of(check.expression) for check in table.checks]
    groups += [set(key.columns) for key in further_keys(table)]
    found = set(columns)
    while more := set().union(*(group for group in groups if group & found)) - found:
        found |= more
    return found


def _staged_rows(reads: Reads, change: Alteration, old: Table, changes: ChangeSet) -> exp.Select:
    """The rows there are: new values of the columns concerned, and all old ones to write on."""
    version = old.format.version_column
    outputs: list[Output] = [(column(c.physical), c.physical) for c in old.stored]
    outputs.append((column(version), version))
    rows = exp.Subquery(
        this=reads.relation(old, outputs), alias=exp.TableAlias(this=exp.to_identifier("t"))
    )
    had = {c.physical for c in old.stored}
    found: list[exp.Expr] = []
    for index, stored in enumerate(changes.table.stored):
        kept: exp.Expr = column(stored.physical, "t") if stored.physical in had else exp.Null()
        value = change.values.get(stored.physical, kept).copy()
        if stored.physical in changes.written:
            found.append(exp.alias_(value, new_name(index)))
        if changes.ends and change.rewritten:
            before = kept if stored.physical in change.rewritten else value
            typed = cast(before.copy(), stored.type)
            found.append(exp.alias_(typed, old_name(index)))
    found.append(exp.alias_(column(version, "t"), OLD_VERSION))
    return exp.select(*found).from_(rows)


def _unique_guard(changes: ChangeSet, key: UniqueKey) -> Guard:
    table = changes.table
    places = {c.physical: i for i, c in enumerate(table.stored)}
    values = key.values(lambda name: column(new_name(places[name])))
    return no_doubles(table, key, exp.to_table(changes.stage), values)


def _parent_guard(reads: Reads, changes: ChangeSet, key: ForeignKey) -> Guard:
    """That every row has the parent which a new foreign key asks for."""
    table = changes.table
    if key.parent == table.id:
        places = {c.physical: i for i, c in enumerate(table.stored)}
        outputs = [exp.alias_(column(new_name(places[p])), p) for p in key.parent_columns]
        present: exp.Query = exp.select(*outputs).from_(changes.stage)
        return parents_of(changes, Reference(table, key, table), present)
    parent = reads.context.catalog.by_id(key.parent)
    assert parent is not None
    present = reads.relation(parent, [(column(p), p) for p in key.parent_columns])
    return parents_of(changes, Reference(table, key, parent), present)
