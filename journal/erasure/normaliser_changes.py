"""Refuses, in the commit section, a normaliser that recorded hashes do not allow.

Suppressions, restrictions and legal holds are hashes of identifiers in certain forms; the values
are destroyed. So a descriptor may have a normaliser

    that it had for this path and type before;
    that it did not have, if all that is on record of the type has a hash in its form, and nothing
    that was one spelling before becomes two: it came of no normaliser, or nothing is on record

Anything else would let somebody come back in another spelling, or let go of a held row. Reads only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from journal.erasure.holds import has_form
from journal.identity.descriptor import DescriptorEntry, descriptor_of, ever_described
from journal.identity.key_ring import labelled, parted
from journal.identity.normalisers import EXACT
from journal.identity.suppression_list import P_NOW, kind_of_numbers, kind_of_type
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA, PutRelation, Query
from journal.model.schema import Table, fold
from journal.sql.relations import column

if TYPE_CHECKING:
    from journal.erasure.seam import ErasureJournal
    from journal.model.store_session import StoreSession
    from journal.transactions.state import JournalState
    from journal.transactions.transaction import Transaction


def check_normalisers(
    journal: ErasureJournal,
    session: StoreSession,
    transaction: Transaction,
    committed: JournalState,
) -> None:
    """Raise NORMALISER where a descriptor says other than what is on record can be compared by."""
    for _, change in transaction.changes():
        made = change.relation if isinstance(change, PutRelation) else None
        if not isinstance(made, Table):
            continue
        present = committed.catalog.by_id(made.id)
        known = set(descriptor_of(present)) if present is not None else set()
        new = [entry for entry in descriptor_of(made) if entry not in known]
        state = committed.tables.get(made.id)
        before = ever_described(state.layouts) if new and state is not None else ()
        for entry in new:
            _check(journal, session, committed, made, entry, before)


def _check(
    journal: ErasureJournal,
    session: StoreSession,
    committed: JournalState,
    table: Table,
    entry: DescriptorEntry,
    before: Iterable[DescriptorEntry],
) -> None:
    was = {e.normaliser for e in before if (e.path, e.type) == (entry.path, entry.type)}
    if entry.normaliser in was:
        return
    came_of_other = bool(was - {EXACT})
    if entry.normaliser.is_plain and not came_of_other:
        return
    requests = _requests(journal, session, committed, table, entry, lacking=not came_of_other)
    held = [
        value
        for value in _person_hashes(session, table, entry)
        if came_of_other or not has_form(value, entry.normaliser)
    ]
    if requests or held:
        raise _refused(table, entry, requests, len(held), came_of_other=came_of_other)


def _requests(
    journal: ErasureJournal,
    session: StoreSession,
    committed: JournalState,
    table: Table,
    entry: DescriptorEntry,
    *,
    lacking: bool,
) -> int:
    """How many requests suppress identifiers of a type here; ``lacking`` the form alone."""
    fenced = committed.fence.kinds
    # What other stores have suppressed in their replicas here is hashed with their keys.
    keys = dict.fromkeys([None, *(parted(label)[1] for label, _ in fenced)])
    plain = (kind_of_type(entry.type, EXACT), kind_of_numbers(entry.type))
    kinds = [labelled(kind, key) for kind in plain for key in keys]
    if not any((kind, of) in fenced for kind in kinds for of in (None, table.id)):
        return 0
    here = exp.or_(
        exp.Is(this=column("table_id", "s"), expression=exp.Null()),
        exp.EQ(this=column("table_id", "s"), expression=exp.Literal.number(table.id)),
    )
    live = exp.or_(
        exp.Is(this=column("expires", "s"), expression=exp.Null()),
        exp.GT(this=column("expires", "s"), expression=exp.Placeholder(this=P_NOW)),
    )
    of_type = exp.In(this=column("kind", "s"), expressions=[*map(exp.Literal.string, kinds)])
    listed = exp.table_("suppressions", db=STORE_SCHEMA, alias="s")
    counted = exp.Count(this=exp.Distinct(expressions=[column("request", "s")]))
    found = exp.select(counted).from_(listed).where(of_type, here, live)
    if lacking:
        formed = exp.table_("suppressions", db=STORE_SCHEMA, alias="f")
        kind = kind_of_type(entry.type, entry.normaliser)
        labels = [exp.Literal.string(labelled(kind, key)) for key in keys]
        same = exp.EQ(this=column("request", "f"), expression=column("request", "s"))
        is_formed = exp.In(this=column("kind", "f"), expressions=labels)
        found = found.join(formed, on=exp.and_(same, is_formed), join_type="left")
        found = found.where(exp.Is(this=column("kind", "f"), expression=exp.Null()))
    (count,) = session.row(Query.of(found), {P_NOW: journal.clock.now()})
    return int(count)


def _person_hashes(session: StoreSession, table: Table, entry: DescriptorEntry) -> list[str]:
    """The hashes of the holds in force on people who are named by the type, or by the column."""
    names = {entry.type}
    if not entry.path.steps:
        names.add(fold(table.by_physical(entry.path.root).name))
    found = exp.select(column("subject_column"), column("subject_value"))
    found = found.from_(exp.table_("holds", db=STORE_SCHEMA))
    of_people = exp.EQ(this=column("scope"), expression=exp.Literal.string("subject"))
    in_force = exp.Is(this=column("released_at"), expression=exp.Null())
    here = exp.or_(
        exp.Is(this=column("table_id"), expression=exp.Null()),
        exp.EQ(this=column("table_id"), expression=exp.Literal.number(table.id)),
    )
    rows = session.arrow(Query.of(found.where(of_people, in_force, here)), {})
    pairs = zip(*(c.to_pylist() for c in rows.columns), strict=True)
    return [value or "" for name, value in pairs if fold(name or "") in names]


def _refused(
    table: Table, entry: DescriptorEntry, requests: int, held: int, *, came_of_other: bool
) -> PalimpsestError:
    counts = [
        f"{count} {word if count == 1 else word + 's'}"
        for count, word in ((requests, "request"), (held, "legal hold"))
        if count
    ]
    lacks = "lacks" if requests + held == 1 else "lack"
    why = "may have one spelling of what becomes two" if came_of_other else f"{lacks} its form"
    said = entry.normaliser.word or "no normaliser"
    return PalimpsestError(
        Code.NORMALISER,
        f"{table.name} cannot compare {entry.type} by {said}: {' and '.join(counts)} on record of"
        f" {entry.type} {why}, and the values are destroyed",
        advice=f"give the column a type of its own, as '{entry.path} .. AS {entry.type}_number';"
        " or end what is on record, if it may end: `palimpsest erase readmit`, `palimpsest privacy"
        " lift`, `palimpsest hold release`",
    )
