"""Caches states of a database's journals, so that only changes are loaded.

A state is found by its generation, which every commit raises. Statements of several threads may see
different generations at once; each gets the state of its own. Thread-safe.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import MappingProxyType

from journal.identity.suppression_list import SuppressionList
from journal.model.catalog import apply
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import PutRelation
from journal.model.schema import DATABASE, DEFAULT_SCHEMA, OWN_SCHEMA, CatalogSnapshot, Table
from journal.model.store_session import RecordSession
from journal.records.catalog import (
    PAST,
    STATE_NOW,
    load_changes,
    load_journals,
    state_row,
)
from journal.records.catalog_format import JournalRow, StateRow, get_meta
from journal.records.statements import execute
from journal.transactions.inlined_rows import NOTHING_INLINED, InlinedRows
from journal.transactions.state import JournalState, TableState

_KEPT = 64
LoadInlined = Callable[[RecordSession, JournalRow, TableState | None], InlinedRows]
"""Gives the rows of a journal that the catalog holds, given what was seen of it before."""


def _nothing_inlined(_session: RecordSession, _row: JournalRow, _old: object) -> InlinedRows:
    return NOTHING_INLINED


@contextmanager
def _reading() -> Iterator[None]:
    """Turn whatever a damaged catalog leads to into the error that says so."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"{type(error).__name__} {error}") from error


def _damaged(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.WAREHOUSE_FORMAT,
        f"the catalog of the store is damaged: {what}",
        advice="restore it from a backup",
    )


class SeenStates:
    """The last few states by generation; ``catalog`` names for people what they are read in."""

    def __init__(
        self,
        load_fence: Callable[[RecordSession], SuppressionList],
        catalog: str,
        home: str = DEFAULT_SCHEMA,
        database: str = DATABASE,
        load_inlined: LoadInlined = _nothing_inlined,
    ) -> None:
        self._load_inlined = load_inlined
        self._load_fence = load_fence
        self._catalog = catalog
        nothing = JournalState(
            0, CatalogSnapshot.empty(home, OWN_SCHEMA, database), MappingProxyType({}), ()
        )
        first = StateRow(0, 0, 0, 0)
        self._states: OrderedDict[int, tuple[StateRow, JournalState]] = OrderedDict()
        self._states[0] = (first, nothing)
        self._newest = nothing
        self._highest = 0
        self._lock = threading.Lock()

    @property
    def newest(self) -> JournalState:
        """The latest state that anybody here has seen."""
        return self._newest

    @property
    def newest_with_row(self) -> tuple[StateRow, JournalState]:
        """The same, with the row of the catalog that says so."""
        with self._lock:
            return self._states[self._highest]

    def read_committed(self, session: RecordSession) -> tuple[StateRow, JournalState]:
        """What is committed, as the session's transaction sees it."""
        row = state_row(execute(session, STATE_NOW), self._catalog)
        return row, self.at(session, row)

    def cached_state(self, row: StateRow) -> JournalState | None:
        """A state that was seen before."""
        with self._lock:
            found = self._states.get(row.generation)
        return None if found is None else found[1]

    def at(self, session: RecordSession, row: StateRow) -> JournalState:
        """The state that the session's transaction sees, whose row is given."""
        seen = self.cached_state(row)
        if seen is not None:
            return seen
        with self._lock:
            # The oldest is the empty state, so there is always one to start from.
            start = max(g for g in self._states if g < row.generation)
            before, state = self._states[start]
        with _reading():
            loaded = self._advanced(session, before, state, row)
        self.keep(row, loaded)
        return loaded

    def keep(self, row: StateRow, state: JournalState) -> None:
        """Remember a state."""
        with self._lock:
            self._states.setdefault(row.generation, (row, state))
            if row.generation > self._highest:
                self._highest = row.generation
                self._newest = state
            while len(self._states) > _KEPT:
                # Mostly they come in order, behind the empty state.
                del self._states[min(islice(self._states, 1, None))]

    def _advanced(
        self, session: RecordSession, before: StateRow, state: JournalState, row: StateRow
    ) -> JournalState:
        """A later state, from an earlier one and what has changed since.

        All of it is read anew if definitions of the past were recorded meanwhile.
        """
        if row.catalog != before.catalog and before.generation:
            past = get_meta(session, PAST)
            if past is not None and int(past) > before.catalog:
                before, state = self._states[0]
        catalog, history = state.catalog, list(state.history)
        tables = dict(state.tables)
        known: dict[int, list[Table]] = {}
        if row.catalog != before.catalog:
            changes = load_changes(session, before.catalog)
            if not changes or changes[-1][0] != row.catalog:
                raise _damaged("definitions of tables are missing")
            for version, change in changes:
                catalog = apply(catalog, change)
                if isinstance(change, PutRelation) and isinstance(change.relation, Table):
                    known.setdefault(change.relation.id, []).append(change.relation)
                if history and history[-1][0] == version:
                    history.pop()
                history.append((version, catalog))
        for found in load_journals(session, before.generation):
            if found.last_version > row.version:
                raise _damaged("it holds rows that are newer than the last commit")
            old = tables.get(found.table_id)
            layouts = () if old is None else old.layouts
            inlined = self._load_inlined(session, found, old)
            tables[found.table_id] = TableState(
                found.manifest, found.last_version, found.counts, layouts, inlined
            )
        for table_id, definitions in known.items():
            for table in definitions:
                tables[table_id] = tables[table_id].with_layout(table)
        fence = state.fence
        if row.fence != before.fence:
            fence = self._load_fence(session)
        return JournalState(row.version, catalog, MappingProxyType(tables), tuple(history), fence)
