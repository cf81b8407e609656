"""Rows that depend on erased ones, followed along foreign keys from table to table, to go as well.

    keys that go -> the values they are referred by -> keys of rows that had one of these, in any
    version -> what refers to those, until nothing is added

Looked at is what is searched for people, too: live segments, heads, retired segments and backups,
and, before the commit section, copies elsewhere. Inside the section what came since is looked at;
it is known there if copies would have to be asked again. Finds keys only, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
from sqlglot import exp

from journal.dependents import Dependents, dependents_of
from journal.embedded.journal import Journal
from journal.erasure.kept import rows_copied
from journal.erasure.locate import Search, by_fields
from journal.erasure.reach import check_searched
from journal.erasure.scope import Scope
from journal.errors import Code, PalimpsestError
from journal.jobs import backups, retired
from journal.plan import Query
from journal.relations import column, ident, union_all
from journal.schema import Reference, Table
from journal.segment import Head, Segment
from journal.state import JournalState
from journal.stores.duckdb import layout
from journal.stores.duckdb.store import DuckDBSession

_LEVELS_MAX = 1_000
_ASKED = "depending_on"


@dataclass(slots=True)
class Followed:
    """A table with rows that may depend on what goes: their keys, and what was looked at."""

    table: Table
    names: list[str] = field(default_factory=list)
    keys: pa.Table | None = None
    search: Search = field(default_factory=Search)

    @property
    def why(self) -> str:
        """For the receipt."""
        return "refers to what goes by " + ", ".join(self.names)


@dataclass(slots=True)
class _Link:
    """A foreign key that is followed: the values looked for, in which files, here and in copies."""

    reference: Reference
    values: pa.Table | None = None
    files: set[str] = field(default_factory=set)
    heads: bool = False
    in_copies: int = 0
    of_copies: int = 0


@dataclass(slots=True)
class Follower:
    """Follows foreign keys for one request; ``chosen`` is what it says of dependents itself."""

    journal: Journal
    chosen: Dependents | None
    scope: Scope
    tidies: bool
    found: dict[int, Followed] = field(default_factory=dict)
    _going: dict[int, pa.Table] = field(default_factory=dict)
    _links: dict[tuple[int, str], _Link] = field(default_factory=dict)

    def cascades(self, state: JournalState, table: Table) -> bool:
        """True if rows that refer to a table's go with them, and there may be some."""
        return bool(self._references(state, table.id))

    def search(
        self, session: DuckDBSession, state: JournalState, seeds: Mapping[int, pa.Table]
    ) -> None:
        """Follow from the keys of some tables, in copies, too.

        Raises ERASURE where a copy cannot be searched, or a table is not reached by erasures.
        """
        self._follow(session, state, seeds)
        while self._search_copies(session):
            self._follow(session, state, {})

    def finish(
        self, session: DuckDBSession, state: JournalState, seeds: Mapping[int, pa.Table]
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
        self, session: DuckDBSession, state: JournalState, seeds: Mapping[int, pa.Table]
    ) -> None:
        for table_id, keys in seeds.items():
            if self._references(state, table_id):
                self._add(session, table_id, keys)
        for _ in range(_LEVELS_MAX):
            references = [r for table_id in self._going for r in self._references(state, table_id)]
            steps = [self._step(session, state, reference) for reference in references]
            if not any(steps):
                return
        raise PalimpsestError(
            Code.ERASURE,
            f"rows refer to what goes over more than {_LEVELS_MAX:,} steps",
            advice="erase those at the end of the chain first, or choose REPORT",
        )

    def _references(self, state: JournalState, table_id: int) -> list[Reference]:
        return [
            reference
            for reference in state.catalog.references.get(table_id, ())
            if reference.parent.id == table_id
            and dependents_of(reference.parent, self.chosen) is Dependents.CASCADE
        ]

    def _step(self, session: DuckDBSession, state: JournalState, reference: Reference) -> bool:
        """Look for rows that refer to what goes; True if some were not known yet."""
        child = reference.child
        link = self._link(reference)
        values = self._values(session, state, reference)
        before = 0 if link.values is None else link.values.num_rows
        link.values = _distinct(session, link.values, values)
        grown = link.values.num_rows > before
        followed = self.found[child.id]
        with self._sealed(child, state) as segments:
            left = [] if link.heads and not grown else [*state.tables[child.id].manifest.heads]
            skipped = set() if grown else link.files
            pieces = self._pieces(child, segments, skipped, left)
            link.heads = True
            link.files |= {f.path for s in segments for f in s.files}
            self._count_files(followed, state, segments)
            if not pieces or not link.values.num_rows:
                return False
            return self._add(session, child.id, _referring(reference, link.values, session, pieces))

    def _link(self, reference: Reference) -> _Link:
        child, name = reference.child, reference.key.name
        if (child.id, name) not in self._links:
            why_not = self.scope.why_not(child.name)
            if why_not is not None:
                raise PalimpsestError(
                    Code.ERASURE,
                    f"rows of {child.name} may refer to what goes, and erasures do not reach it:"
                    f" {why_not}",
                    advice="widen the scope (palimpsest erase scope), or choose REPORT or REFUSE",
                )
            followed = self.found.setdefault(child.id, Followed(child))
            followed.names.append(name)
            self._links[child.id, name] = _Link(reference)
        return self._links[child.id, name]

    def _values(
        self, session: DuckDBSession, state: JournalState, reference: Reference
    ) -> pa.Table:
        """What the keys that go are referred by, in any version."""
        parent, keys = reference.parent, self._going[reference.parent.id]
        if not _is_by_value(reference):
            chosen = keys.select(list(reference.key.parent_columns))
            return chosen.rename_columns(_names(reference))
        with self._sealed(parent, state) as segments:
            heads = state.tables[parent.id].manifest.heads
            pieces = self._pieces(parent, segments, set(), heads)
            return _referred(reference, keys, session, pieces)

    def _add(self, session: DuckDBSession, table_id: int, keys: pa.Table) -> bool:
        known = self._going.get(table_id)
        going = _distinct(session, known, keys)
        if not going.num_rows:
            return False
        self._going[table_id] = going
        if table_id in self.found:
            self.found[table_id].keys = going
        return known is None or going.num_rows > known.num_rows

    def _count(self, table: Table) -> int:
        keys = self._going.get(table.id)
        return 0 if keys is None else keys.num_rows

    @contextmanager
    def _sealed(self, table: Table, state: JournalState) -> Iterator[list[Segment]]:
        """Live segments, and those that are kept besides; checked, and they stay."""
        with retired.pinned(self.journal, table.id) as kept:
            segments = [*state.tables[table.id].manifest.segments, *kept]
            self.journal.checker.check(segments)
            yield segments

    def _pieces(
        self,
        table: Table,
        segments: Sequence[Segment],
        skipped: set[str],
        heads: Sequence[Head] = (),
    ) -> list[exp.Query]:
        pieces = [layout.head_rows(table, head) for head in heads]
        for fields, files in by_fields(segments):
            paths = [f.path for f in files if f.path not in skipped]
            if paths:
                pieces.append(layout.segment_rows(table, paths, fields, self.journal.root))
        return pieces

    def _count_files(
        self, followed: Followed, state: JournalState, segments: Sequence[Segment]
    ) -> None:
        search = followed.search
        manifest = state.tables[followed.table.id].manifest
        live = {f.path for s in manifest.segments for f in s.files}
        for file in (f for s in segments for f in s.files if f.path not in search.seen):
            search.seen.add(file.path)
            (search.live if file.path in live else search.kept).count(file, read=True)

    def _search_copies(self, session: DuckDBSession) -> bool:
        """Look in copies for what they were not asked for yet; True if that added something."""
        grown = False
        for link in list(self._links.values()):
            reference = link.reference
            child, parent = reference.child, reference.parent
            count = self._count(parent)
            if _is_by_value(reference) and link.of_copies < count:
                keys = self._going[parent.id]
                look = self._in_copy(parent, partial(_referred, reference, keys))
                found = self._copied(parent, look, Search())
                before = 0 if link.values is None else link.values.num_rows
                link.values = _distinct(session, link.values, *found)
                grown = grown or link.values.num_rows > before
                link.of_copies = count
                # What is live is looked through for these, too.
                link.files, link.heads = set(), False
            values = link.values
            if values is not None and link.in_copies < values.num_rows:
                look = self._in_copy(child, partial(_referring, reference, values))
                for added in self._copied(child, look, self.found[child.id].search):
                    grown = self._add(session, child.id, added) or grown
                link.in_copies = values.num_rows
        return grown

    def _in_copy(
        self, table: Table, ask: Callable[[DuckDBSession, list[exp.Query]], pa.Table]
    ) -> Callable[[Sequence[Segment]], pa.Table]:
        def find(segments: Sequence[Segment]) -> pa.Table:
            with self.journal.reading_session() as session:
                return ask(session, self._pieces(table, segments, set()))

        return find

    def _copied(
        self, table: Table, find: Callable[[Sequence[Segment]], pa.Table], search: Search
    ) -> list[pa.Table]:
        found, left = rows_copied(self.journal, table, find, search, tidies=self.tidies)
        check_searched(left)
        return [rows for rows in found if rows.num_rows]


def _is_by_value(reference: Reference) -> bool:
    """True where the parent is not referred to by columns of its key, which never change."""
    return not set(reference.key.parent_columns) <= set(reference.parent.key)


def _has_copies(session: DuckDBSession, table: Table) -> bool:
    return any(b.place is not None for b in backups.load(session, table.id))


def _names(reference: Reference) -> list[str]:
    return [f"v{place}" for place in range(len(reference.key.columns))]


def _referred(
    reference: Reference, keys: pa.Table, session: DuckDBSession, pieces: list[exp.Query]
) -> pa.Table:
    """The values that rows of some keys are referred by."""
    parent, names = reference.parent, _names(reference)
    columns = reference.key.parent_columns
    outputs = [exp.alias_(column(c, "r"), ident(n)) for c, n in zip(columns, names, strict=True)]
    same = [exp.EQ(this=column(k, "r"), expression=_typed(parent, k, k)) for k in parent.key]
    filled = [exp.Not(this=exp.Is(this=column(c, "r"), expression=exp.Null())) for c in columns]
    return _asked(session, pieces, outputs, keys, same, filled)


def _referring(
    reference: Reference, values: pa.Table, session: DuckDBSession, pieces: list[exp.Query]
) -> pa.Table:
    """The keys of rows that refer to some values."""
    child, parent, key = reference.child, reference.parent, reference.key
    given = [
        _typed(parent, c, n) for c, n in zip(key.parent_columns, _names(reference), strict=True)
    ]
    pairs = zip(key.columns, given, strict=True)
    same = [exp.EQ(this=column(c, "r"), expression=value) for c, value in pairs]
    return _asked(session, pieces, [column(k, "r") for k in child.key], values, same, [])


def _typed(table: Table, physical: str, shown_as: str) -> exp.Expr:
    """What is asked for in the type of a table's column: outside the store it may have another."""
    return exp.cast(column(shown_as, "a"), table.by_physical(physical).type, dialect="duckdb")


def _asked(
    session: DuckDBSession,
    pieces: list[exp.Query],
    outputs: Sequence[exp.Expr],
    among: pa.Table,
    same: Sequence[exp.Expr],
    filled: Sequence[exp.Expr],
) -> pa.Table:
    session.show_arrow(_ASKED, among)
    query = exp.select(*outputs).distinct().from_(union_all(pieces).subquery("r"))
    shown = exp.alias_(exp.to_table(_ASKED), "a", table=True)
    query = query.join(shown, on=exp.and_(*same), join_type="semi").where(*filled)
    found = session.arrow(Query(query, ()), {})
    session.hide(_ASKED)
    return found


def together(tables: Iterable[pa.Table | None]) -> pa.Table:
    """All rows; some tables are needed."""
    return pa.concat_tables([t for t in tables if t is not None], promote_options="permissive")


def _distinct(session: DuckDBSession, *tables: pa.Table | None) -> pa.Table:
    """All rows, once each: Arrow itself cannot tell values of every type apart."""
    session.show_arrow(_ASKED, together(tables))
    found = session.arrow(Query(exp.select("*").distinct().from_(_ASKED), ()), {})
    session.hide(_ASKED)
    return found
