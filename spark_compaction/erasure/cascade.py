"""Follows foreign keys from erased rows to the rows that refer to them.

    keys that go -> the values they are referred by -> keys of rows that had one of these, in any
    version -> what refers to those, until nothing is added

Looked at is what is searched for people, too: what is live, what is kept besides, and, before the
commit section, copies elsewhere. Inside the section what came since is looked at; it is known there
if copies would have to be asked again. Finds keys only, and changes nothing but what killed copies
have left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from functools import partial

import pyarrow as pa
from sqlglot import exp

from journal.erasure.matching import shown_as
from journal.erasure.scope import ErasureScope
from journal.erasure.unreachable_copies import check_searched
from journal.model.dependents import Dependents, dependents_of
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Reference, Table
from journal.model.store_session import StoreSession
from journal.records import backups
from journal.records.backups import Backup
from journal.sql.relations import column, ident, union_all
from journal.transactions.reading import reading
from journal.transactions.state import JournalState
from spark_compaction.erasure.backend import ErasureBackend, SourceRows, fetched_segments
from spark_compaction.erasure.offsite_search import each_copy
from spark_compaction.erasure.search import Search

_LEVELS_MAX = 1_000
_ASKED = "depending_on"

Ask = Callable[[StoreSession, Sequence[exp.Query]], pa.Table]
"""Asks relations of journal rows, in the present columns of their table."""


@dataclass(slots=True)
class CascadedTable:
    """A table with rows that may depend on what goes: by what, and all its keys that go."""

    table: Table
    names: list[str] = field(default_factory=list)
    keys: pa.Table | None = None

    @property
    def why(self) -> str:
        """For the receipt."""
        return "refers to what goes by " + ", ".join(self.names)


@dataclass(slots=True)
class _Link:
    """A foreign key that is followed: the values looked for, in what pieces here, and in copies.

    ``of`` is how many keys of the parent the values are of.
    """

    reference: Reference
    values: pa.Table | None = None
    of: int = 0
    pieces: set[str] = field(default_factory=set)
    heads: bool = False
    in_copies: int = 0
    of_copies: int = 0


@dataclass(slots=True)
class CascadeWalker:
    """Follows foreign keys for one request; ``chosen`` is what it says of dependents itself.

    What killed copies have left is finished if it ``tidies``.
    """

    backend: ErasureBackend
    tidies: bool
    chosen: Dependents | None
    scope: ErasureScope
    found: dict[int, CascadedTable] = field(default_factory=dict)
    _searches: dict[int, Search] = field(default_factory=dict)
    _going: dict[int, pa.Table] = field(default_factory=dict)
    _links: dict[tuple[int, str], _Link] = field(default_factory=dict)

    def search_of(self, table: Table) -> Search:
        """What was read of a table."""
        return self._searches.setdefault(table.id, Search())

    def reached(self, state: JournalState, table_ids: Iterable[int]) -> list[Table]:
        """The tables whose rows may go with rows of some tables."""
        found: dict[int, Table] = {}
        left = list(table_ids)
        while left:
            children = [reference.child for reference in self._references(state, left.pop())]
            left += [child.id for child in children if child.id not in found]
            found |= {child.id: child for child in children}
        return list(found.values())

    def search(
        self, session: StoreSession, state: JournalState, seeds: Mapping[int, pa.Table]
    ) -> None:
        """Follow from the keys of some tables, in copies, too.

        Raises ERASURE where a copy cannot be searched, or a table is not reached by erasures.
        """
        self._follow(session, state, seeds)
        while self._search_copies(session):
            self._follow(session, state, {})

    def finish(
        self, session: StoreSession, state: JournalState, seeds: Mapping[int, pa.Table]
    ) -> bool:
        """Follow on in the commit section; False if copies must be searched for what was added."""
        for link in self._links.values():
            link.heads = False
        self._follow(session, state, seeds)
        for link in self._links.values():
            asked = link.values is not None and link.values.num_rows > link.in_copies
            if asked and _has_copies(session, link.reference.child):
                return False
            if link.of_copies < self._count(link.reference.parent):
                if _is_by_value(link.reference) and _has_copies(session, link.reference.parent):
                    return False
        return True

    def _follow(
        self, session: StoreSession, state: JournalState, seeds: Mapping[int, pa.Table]
    ) -> None:
        for table_id, keys in seeds.items():
            table = state.catalog.by_id(table_id)
            if table is not None and state.catalog.references.get(table_id):
                self._add(session, table, keys)
        for _ in range(_LEVELS_MAX):
            references = [r for table_id in self._going for r in self._references(state, table_id)]
            steps = [self._step(session, state, reference) for reference in references]
            if not any(steps):
                return
        raise PalimpsestError(
            Code.ERASURE,
            f"a chain of rows that refer to erased ones has more than {_LEVELS_MAX:,} steps",
            advice="erase those at the end of the chain first, or choose REPORT",
        )

    def _references(self, state: JournalState, table_id: int) -> list[Reference]:
        return [
            reference
            for reference in state.catalog.references.get(table_id, ())
            if reference.parent.id == table_id
            and dependents_of(reference.parent, self.chosen) is Dependents.CASCADE
        ]

    def _step(self, session: StoreSession, state: JournalState, reference: Reference) -> bool:
        """Look for rows that refer to what goes; True if some were not known yet."""
        child = reference.child
        link = self._link(reference)
        before = 0 if link.values is None else link.values.num_rows
        count = self._count(reference.parent)
        if link.values is None or link.of < count or _is_by_value(reference):
            values = self._values(session, state, reference)
            link.values = _distinct(session, _kinds_of(reference), link.values, values)
            link.of = count
        grown = link.values.num_rows > before
        with self._rows_here(session, state, child) as source:
            skipped: set[str] = set() if grown else link.pieces
            rows = source.rows(skipped, grown or not link.heads)
            link.heads = True
            link.pieces |= set(source.pieces)
            if not rows or not link.values.num_rows:
                return False
            return self._add(session, child, _referring(reference, link.values, session, rows))

    def _link(self, reference: Reference) -> _Link:
        child, name = reference.child, reference.key.name
        if (child.id, name) not in self._links:
            why_not = self.scope.why_not(child.name)
            if why_not is not None:
                raise PalimpsestError(
                    Code.ERASURE,
                    f"rows of {child.name} may refer to erased rows, and erasures do not reach it:"
                    f" {why_not}",
                    advice="widen the scope (palimpsest erase scope), or choose REPORT or REFUSE",
                )
            known = CascadedTable(child, keys=self._going.get(child.id))
            followed = self.found.setdefault(child.id, known)
            followed.names.append(name)
            self._links[child.id, name] = _Link(reference)
        return self._links[child.id, name]

    def _values(self, session: StoreSession, state: JournalState, reference: Reference) -> pa.Table:
        """What the keys that go are referred by, in any version."""
        parent, keys = reference.parent, self._going[reference.parent.id]
        if not _is_by_value(reference):
            chosen = keys.select(list(reference.key.parent_columns))
            return chosen.rename_columns(_names(reference))
        with self._rows_here(session, state, parent) as source:
            return _referred(reference, keys, session, source.rows((), True))

    def _add(self, session: StoreSession, table: Table, keys: pa.Table) -> bool:
        known = self._going.get(table.id)
        kinds = {name: table.by_physical(name).type for name in table.key}
        going = _distinct(session, kinds, known, keys)
        if not going.num_rows:
            return False
        self._going[table.id] = going
        if table.id in self.found:
            self.found[table.id].keys = going
        return known is None or going.num_rows > known.num_rows

    def _count(self, table: Table) -> int:
        keys = self._going.get(table.id)
        return 0 if keys is None else keys.num_rows

    def _rows_here(
        self, session: StoreSession, state: JournalState, table: Table
    ) -> AbstractContextManager[SourceRows]:
        return self.backend.rows_here(session, state, table, self.search_of(table))

    def _ask_copies(self, table: Table, ask: Ask, *, counted: bool) -> list[pa.Table]:
        """What every copy elsewhere answers; raises ERASURE if one cannot be searched."""
        backend, answers = self.backend, list[pa.Table]()

        def search_rows(listed: Backup) -> None:
            with (
                fetched_segments(backend, table, listed) as segments,
                reading(backend.journal) as statement,
            ):
                answers.append(ask(statement.session, backend.rows_of(table, segments)))
            if counted:
                self.search_of(table).count_copy(listed.segments)

        check_searched(each_copy(backend, table, search_rows, tidies=self.tidies))
        return [rows for rows in answers if rows.num_rows]

    def _search_copies(self, session: StoreSession) -> bool:
        """Look in copies for what they were not asked for yet; True if that added something."""
        grown = False
        for link in list(self._links.values()):
            reference = link.reference
            child, parent = reference.child, reference.parent
            count = self._count(parent)
            if _is_by_value(reference) and link.of_copies < count:
                keys = self._going[parent.id]
                ask = partial(_referred, reference, keys)
                found = self._ask_copies(parent, ask, counted=False)
                before = 0 if link.values is None else link.values.num_rows
                link.values = _distinct(session, _kinds_of(reference), link.values, *found)
                grown = grown or link.values.num_rows > before
                link.of_copies = count
                # What is live is looked through for these, too.
                link.pieces, link.heads = set(), False
            values = link.values
            if values is not None and link.in_copies < values.num_rows:
                ask = partial(_referring, reference, values)
                for added in self._ask_copies(child, ask, counted=True):
                    grown = self._add(session, child, added) or grown
                link.in_copies = values.num_rows
        return grown


def _is_by_value(reference: Reference) -> bool:
    """True where the parent is not referred to by columns of its key, which never change."""
    return not set(reference.key.parent_columns) <= set(reference.parent.key)


def _has_copies(session: StoreSession, table: Table) -> bool:
    return any(b.place is not None for b in backups.load(session, table.id))


def _names(reference: Reference) -> list[str]:
    return [f"v{place}" for place in range(len(reference.key.columns))]


def _kinds_of(reference: Reference) -> dict[str, str]:
    """The values that are referred to, and their types."""
    types = [reference.parent.by_physical(c).type for c in reference.key.parent_columns]
    return dict(zip(_names(reference), types, strict=True))


def _referred(
    reference: Reference, keys: pa.Table, session: StoreSession, rows: Sequence[exp.Query]
) -> pa.Table:
    """The values that rows of some keys are referred by."""
    parent, names = reference.parent, _names(reference)
    columns = reference.key.parent_columns
    outputs = [exp.alias_(column(c, "r"), ident(n)) for c, n in zip(columns, names, strict=True)]
    same = [exp.EQ(this=column(k, "r"), expression=_typed(parent, k, k)) for k in parent.key]
    filled = [exp.Not(this=exp.Is(this=column(c, "r"), expression=exp.Null())) for c in columns]
    return _run_query(session, rows, outputs, keys, same, filled)


def _referring(
    reference: Reference, values: pa.Table, session: StoreSession, rows: Sequence[exp.Query]
) -> pa.Table:
    """The keys of rows that refer to some values."""
    child, parent, key = reference.child, reference.parent, reference.key
    given = [
        _typed(parent, c, n) for c, n in zip(key.parent_columns, _names(reference), strict=True)
    ]
    pairs = zip(key.columns, given, strict=True)
    same = [exp.EQ(this=column(c, "r"), expression=value) for c, value in pairs]
    return _run_query(session, rows, [column(k, "r") for k in child.key], values, same, [])


def _typed(table: Table, physical: str, shown_as: str) -> exp.Expr:
    """What is asked for in the type of a table's column: outside the store it may have another."""
    return exp.cast(column(shown_as, "a"), table.by_physical(physical).type, dialect="duckdb")


def _run_query(
    session: StoreSession,
    rows: Sequence[exp.Query],
    outputs: Sequence[exp.Expr],
    among: pa.Table,
    same: Sequence[exp.Expr],
    filled: Sequence[exp.Expr],
) -> pa.Table:
    session.show_arrow(_ASKED, among)
    query = exp.select(*outputs).distinct().from_(union_all(rows).subquery("r"))
    shown = exp.alias_(exp.to_table(_ASKED), "a", table=True)
    query = query.join(shown, on=exp.and_(*same), join_type="semi").where(*filled)
    found = session.arrow(Query(query, ()), {})
    session.hide(_ASKED)
    return found


def _distinct(
    session: StoreSession, kinds: Mapping[str, str], *tables: pa.Table | None
) -> pa.Table:
    """All rows, once each, of columns of these types.

    Outside the store values of one type may have several, and Arrow cannot tell all of them apart.
    """
    given = {f"{_ASKED}_{place}": rows for place, rows in enumerate(tables) if rows is not None}
    parts: list[exp.Query] = []
    for name, rows in given.items():
        session.show_arrow(name, rows)
        parts.append(shown_as(kinds, name))
    every = union_all(parts).subquery("r")
    query = exp.select(*[column(c, "r") for c in kinds]).distinct().from_(every)
    found = session.arrow(Query(query, ()), {})
    session.hide(*given)
    # Some stores show names in lower case.
    return found.rename_columns(list(kinds))


def too_fast() -> PalimpsestError:
    """What is said where the search had to begin anew too often."""
    return PalimpsestError(
        Code.ERASURE,
        "others write rows that refer to erased ones faster than the job can search copies",
        advice="run it again when others write less",
    )
