"""Decides which keys of a request a legal hold spares, for every store.

    keys of a request in a table --split--> hidden    a mask: nobody sees or writes them
                                      `---> spared    under a hold: seen and written as before

The split is made when a request is accepted, and made anew, in one commit each, whenever a hold is
placed or released and before a purge. A request that has spared keys is ON_HOLD as a whole: what is
hidden of it is purged with the rest, once nothing holds it any more. How lists of keys are read and
written, and whether rows of a key are covered, is the store's: ``KeyLists``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from journal.erasure import audit, holds
from journal.erasure.list_parameters import list_parameters
from journal.erasure.matching import shown_as
from journal.erasure.requests import OPEN, ErasureRequest, State, Target
from journal.erasure.seam import ErasureJournal
from journal.erasure.secret import lasting_secret
from journal.erasure.suppressing import Suppressor
from journal.identity.suppression_list import KEY_KIND, SPARED_KIND, digest, key_text
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.model.store_session import StoreSession
from journal.records import erasure_rows as rows_of
from journal.sql.relations import column
from journal.transactions.state import JournalState
from spark_compaction.erasure.backend import (
    ErasureBackend,
    HoldChange,
    KeyLists,
    ListChange,
    ListDecision,
    unchanged,
)

PLACE = "_place"
"""The column that tells a key's place among those that are asked about."""
_ROUNDS_MAX = 5


@dataclass(frozen=True, slots=True)
class KeySplit:
    """Keys of a request in one table, and who holds those that are spared, in words."""

    hidden: pa.Table | None
    spared: pa.Table | None
    holder: str | None = None


def _rows(keys: pa.Table | None) -> int:
    return 0 if keys is None else keys.num_rows


def split_keys(journal: ErasureJournal, lists: KeyLists, table: Table, keys: pa.Table) -> KeySplit:
    """Tell the keys that a hold spares now from those that are to be hidden."""
    concerned = [h for h in lists.active if h.concerns(table)]
    whole = holds.whole_table(concerned)
    if whole is not None:
        return KeySplit(None, keys, whole.description())
    places: set[int] = set()
    holders: list[str] = []
    for holding in holds.conditions(journal, table, concerned):
        found = set(lists.keys_meeting(table, keys, holding.condition))
        if found:
            holders.append(holding.told)
        places |= found
    if not places:
        return KeySplit(keys, None)
    spared = pa.array([place in places for place in range(keys.num_rows)], pa.bool_())
    hidden = keys.filter(pc.invert(spared))
    return KeySplit(hidden if hidden.num_rows else None, keys.filter(spared), " and ".join(holders))


def with_places(keys: pa.Table) -> pa.Table:
    """Keys and, in one more column, their places."""
    return keys.append_column(PLACE, pa.array(range(keys.num_rows), pa.int64()))


def covered_query(table: Table, rows: exp.Query, shown: str, condition: exp.Expr) -> exp.Select:
    """The places of the keys in relation ``shown`` of which any of some rows meets a condition.

    The rows are in the present columns of the table.
    """
    kinds = {k: table.by_physical(k).type for k in table.key}
    keys = shown_as({**kinds, PLACE: "BIGINT"}, shown)
    met = exp.select("*").from_(rows.subquery("j")).where(condition.copy())
    same = [exp.EQ(this=column(k, "r"), expression=column(k, "e")) for k in table.key]
    found = exp.select(column(PLACE, "e")).distinct().from_(keys.subquery("e"))
    return found.join(met.subquery("r"), on=exp.and_(*same))


@dataclass(frozen=True, slots=True)
class RelistedKeys:
    """The keys of one receipt as they were split anew; ``after`` names the new lists."""

    table: Table
    before: Target
    after: Target
    split: KeySplit


@dataclass(frozen=True, slots=True)
class HoldEffect:
    """What holds make of an open request now: its lists of keys, if they change, and its state."""

    request: ErasureRequest
    relisted: tuple[RelistedKeys, ...]
    holder: str | None

    @property
    def state(self) -> State:
        """The state that the request is in then."""
        return State.ACCEPTED if self.holder is None else State.ON_HOLD

    @property
    def is_due(self) -> bool:
        """True if anything changes."""
        moves = self.state is not self.request.state or self.holder != self.request.holder
        return moves or any(r.before != r.after for r in self.relisted)


def write_lists(
    lists: KeyLists, table: Table, request: str, target: Target, split: KeySplit
) -> Target:
    """Write the lists of a split; the receipt that names them."""
    names = [
        None if keys is None else lists.write(table, request, keys)
        for keys in (split.hidden, split.spared)
    ]
    return replace(target, mask=names[0], spared=names[1])


def apply_holds(
    backend: ErasureBackend,
    by: str,
    only: Collection[str] | None = None,
    change: HoldChange = unchanged,
) -> list[ErasureRequest]:
    """Place or release a hold, and split the keys of open requests anew, in one commit.

    Of all requests, or ``only`` some. What no hold covers any more is hidden, and may not be
    written, from that commit on. Gives the requests that changed. Raises JOB_BUSY where requests
    come and go all the while.
    """
    judged: set[int] | None = None
    for _ in range(_ROUNDS_MAX):
        with backend.journal.reading_session() as session:
            tables = _tables_of(open_requests(session, only))
        if change is unchanged and (not tables or tables == judged):
            return []
        decide = partial(_effects, backend, by, only, tables, change is unchanged)
        moved = backend.change_lists(tables, decide, change)
        if moved is not None:
            return moved
        judged = tables
    raise PalimpsestError(
        Code.JOB_BUSY,
        "erasure requests or legal holds keep changing",
        advice="run it again when they change less often",
    )


def _tables_of(found: Iterable[ErasureRequest]) -> set[int]:
    """The tables in which requests have keys."""
    return {t.table_id for r in found for t in r.targets if t.lists}


def _effects(
    backend: ErasureBackend,
    by: str,
    only: Collection[str] | None,
    tables: Collection[int],
    only_due: bool,
    lists: KeyLists,
) -> ListDecision[list[ErasureRequest]] | None:
    """Write the lists of keys that holds split anew.

    None if a request came about other tables, or, where ``only_due``, if nothing changes.
    """
    found = lists.open_requests(only)
    if not _tables_of(found) <= set(tables):
        return None
    effects = [e for e in (_effect(backend.journal, lists, r) for r in found) if e.is_due]
    if only_due and not effects:
        return None

    def record(session: StoreSession) -> list[ErasureRequest]:
        return [_record(backend.journal, session, effect, by) for effect in effects]

    changes = [
        ListChange(r.before.table_id, r.before.lists, r.after.mask, r.after.spared)
        for effect in effects
        for r in effect.relisted
        if r.before != r.after
    ]
    return ListDecision(record, changes)


def _effect(journal: ErasureJournal, lists: KeyLists, request: ErasureRequest) -> HoldEffect:
    relisted: list[RelistedKeys] = []
    listed = [(t, definition(lists.committed, t.table_id)) for t in request.targets if t.lists]
    if not any(t.spared or any(h.concerns(table) for h in lists.active) for t, table in listed):
        return HoldEffect(request, (), None)
    for target, table in listed:
        before = [
            None if name is None else lists.read(table, name)
            for name in (target.mask, target.spared)
        ]
        keys = pa.concat_tables([k for k in before if k is not None])
        split = split_keys(journal, lists, table, keys)
        after = target
        if not _is_same(split, before):
            after = write_lists(lists, table, request.id, target, split)
        relisted.append(RelistedKeys(table, target, after, split))
    holders = dict.fromkeys(r.split.holder for r in relisted if r.split.holder is not None)
    return HoldEffect(request, tuple(relisted), " and ".join(holders) or None)


def _is_same(split: KeySplit, before: Sequence[pa.Table | None]) -> bool:
    """True if a split leaves every key in the list that it is in."""
    now = (split.hidden, split.spared)
    if [_rows(k) for k in now] != [_rows(k) for k in before]:
        return False
    return all(k is None or k.equals(b) for k, b in zip(now, before, strict=True))


def _record(
    journal: ErasureJournal, session: StoreSession, effect: HoldEffect, by: str
) -> ErasureRequest:
    """Write down what holds make of a request: its state, and what of it may not be written."""
    request, now = effect.request, journal.clock.next()
    after = {id(r.before): r.after for r in effect.relisted}
    targets = tuple(after.get(id(t), t) for t in request.targets)
    if targets != request.targets:
        rows_of.drop_keys(session, request.id)
        secret = lasting_secret(journal, session)
        entries = Suppressor(session, request.id, now, request.expires, secret)
        for relisted in effect.relisted:
            suppress(entries, relisted.table, relisted.split)
    waits = "" if effect.holder is None else f"legal {effect.holder}"
    moved = replace(request, updated=now)
    if effect.state is not request.state:
        moved = request.in_state(effect.state, now)
    moved = replace(moved, holder=effect.holder, waits_for=waits, targets=targets)
    rows_of.put_erasure(session, moved.to_row())
    _record_held(journal, session, moved, by)
    return moved


def record_accepted(
    journal: ErasureJournal,
    session: StoreSession,
    request: ErasureRequest,
    holders: Iterable[str],
    by: str,
) -> ErasureRequest:
    """Write down a request that was just accepted; ON_HOLD if somebody holds keys of it."""
    holder = " and ".join(dict.fromkeys(holders)) or None
    if holder is None:
        rows_of.put_erasure(session, request.to_row())
        return request
    return _record(journal, session, HoldEffect(request, (), holder), by)


def _record_held(
    journal: ErasureJournal, session: StoreSession, request: ErasureRequest, by: str
) -> None:
    """Record in the audit log that a request is on hold now, or that it is not any more."""
    action = "erase.release" if request.holder is None else "erase.hold"
    audit.record(journal, session, by, action, request.id, {})


def suppress(entries: Suppressor, table: Table, split: KeySplit) -> None:
    """Let hidden keys not be written again, and spared ones be written as before."""
    kinds = {k: table.by_physical(k).type for k in table.key}
    for keys, add in ((split.hidden, entries.keys), (split.spared, entries.spared)):
        if keys is not None:
            shown = entries.new_name()
            entries.session.show_arrow(shown, keys)
            add(table, shown_as(kinds, shown))


def suppressed(
    journal: ErasureJournal, session: StoreSession, table: Table, keys: pa.Table, shown: str
) -> dict[str, set[tuple[str, str]]]:
    """Which of some keys are suppressed and which are spared: by kind their hashes, and by whom."""
    session.show_arrow(shown, keys)
    kinds = {k: table.by_physical(k).type for k in table.key}
    found: dict[str, set[tuple[str, str]]] = {}
    for kind in (KEY_KIND, SPARED_KIND):
        text = key_text(table, "k")
        hashes = exp.select(exp.alias_(digest(kind, text), "hash"))
        hashes = hashes.from_(shown_as(kinds, shown).subquery("k"))
        listed = exp.table_("suppressions", db=STORE_SCHEMA, alias="s")
        query = exp.select(column("hash", "s"), column("request", "s")).from_(listed)
        same = exp.EQ(this=column("hash", "s"), expression=column("hash", "h"))
        query = query.join(hashes.subquery("h"), on=same).where(
            exp.EQ(this=column("kind", "s"), expression=exp.Literal.string(kind)),
            exp.EQ(this=column("table_id", "s"), expression=exp.Literal.number(table.id)),
        )
        asked = Query.of(query)
        rows = session.arrow(asked, list_parameters(journal, asked))
        found[kind] = {(str(h), str(r)) for h, r in session.arrow_rows(rows)}
    return found


def check_hidden(manifest: Manifest, masks: Iterable[str], table: Table) -> None:
    """Raise JOB_BUSY unless the keys that a purge removes are still those that are hidden.

    Whoever places a hold gives them another list in the same commit.
    """
    if not set(masks) <= set(manifest.masks):
        raise kept_back(table)


def kept_back(table: Table) -> PalimpsestError:
    """The error of a purge whose keys are hidden no more."""
    return PalimpsestError(
        Code.JOB_BUSY,
        f"a legal hold was placed on rows of {table.name} while they were erased, or a request was"
        " cancelled",
        advice="run it again: what a hold covers stays, and the rest goes",
    )


def free_masks(found: Iterable[ErasureRequest], table_id: int) -> list[str]:
    """The masks of a table that requests have which no hold keeps back."""
    free = [r for r in found if r.state is State.ACCEPTED]
    return [t.mask for r in free for t in r.targets if t.table_id == table_id and t.mask]


def open_requests(session: StoreSession, only: Collection[str] | None) -> list[ErasureRequest]:
    """The requests whose keys holds may spare; of all, or ``only`` some."""
    found = map(ErasureRequest.of_row, rows_of.load_erasures(session))
    return [r for r in found if r.state in OPEN and (only is None or r.id in only)]


def definition(state: JournalState, table_id: int) -> Table:
    """A table as it is defined now, or was before it was dropped."""
    return state.catalog.by_id(table_id) or state.tables[table_id].layouts[-1]
