"""Accepting a request to erase: who is meant is found, and from the commit on nobody sees them.

    search:  the segments, by filters, while others read and write
    accept:  heads and what was sealed meanwhile; masks, suppressions, the request, the audit entry
             (one transaction in the commit section)

Identifiers are held in memory only. What is written down are the keys of the rows that match, in a
file that goes when the request is completed, and keyed hashes. A dry run writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from journal.erasure import audit
from journal.erasure.descriptor import Identity, ever_described
from journal.erasure.fence import KEY_KIND, P_SECRET, key_text, suppress_query, texts_of
from journal.erasure.holdings import holdings
from journal.erasure.locate import Locator, Search, Subjects
from journal.erasure.requests import Outcome, Request, State, Target
from journal.erasure.scope import load_scope
from journal.erasure.secret import PRIVATE, make_secret
from journal.errors import Code, PalimpsestError
from journal.journal import Journal
from journal.plan import Query
from journal.protocol import OpenJournal
from journal.relations import column
from journal.schema import Table
from journal.state import JournalState, TableState
from journal.stores import duckdb_erasure as rows_of
from journal.stores import duckdb_layout as layout
from journal.stores.duckdb import DuckDBSession
from journal.stores.duckdb_keys import write_keys
from journal.version import Version

_ROUNDS_MAX = 5
_LATE_FILES_MAX = 16
"""So many files may be searched inside the commit section; for more, the search begins anew."""
_SUBJECTS_MAX = 100_000
_SHOWN_VALUES = "erased_values"

FindKeys = Callable[[], pa.Table]
"""Finds the keys of a predicate's rows as the journal is now."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks: identifiers by type, or rows of tables found in another way."""

    subjects: Subjects = field(default_factory=dict)
    rows: Mapping[int, FindKeys] = field(default_factory=dict)
    tables: frozenset[tuple[str, str]] | None = None
    reason: str | None = None
    expires_us: int | None = None


@dataclass(slots=True)
class _Sought:
    """One table while it is searched."""

    table: Table
    identities: tuple[Identity, ...]
    locator: Locator | None = None
    keys: list[pa.Table] = field(default_factory=list)
    why_not: str | None = None

    @property
    def seen(self) -> set[str]:
        return (
            set()
            if self.locator is None
            else self.locator.search.read | self.locator.search.skipped
        )


def accept(journal: Journal, wanted: Wanted, by: str) -> Request:
    """Accept a request; raises ERASURE when no table could hold who is meant."""
    _check(wanted)
    for attempt in range(_ROUNDS_MAX):
        found = _search(journal, wanted)
        with journal.exclusive_session() as session:
            late = {t.table.id: _late(journal.state, t) for t in found if t.why_not is None}
            if attempt + 1 < _ROUNDS_MAX and sum(map(len, late.values())) > _LATE_FILES_MAX:
                continue
            for sought in found:
                if sought.why_not is None:
                    _finish(journal, session, sought, wanted)
            return _write(journal, session, found, wanted, by)
    raise AssertionError("the last round accepts")


def dry_run(journal: Journal, wanted: Wanted) -> Request:
    """What accepting would find: keys, versions, files and bytes, by table; nothing is written."""
    _check(wanted)
    found = _search(journal, wanted)
    now = journal.clock.now()
    targets = []
    with journal.reading_session() as session:
        folder = journal.root / PRIVATE
        folder.mkdir(mode=0o700, exist_ok=True)
        draft = f"{PRIVATE}/dry-{journal.new_segment_id()}.keys"
        for sought in found:
            target = _target(sought, None)
            if sought.why_not is None:
                _finish(journal, session, sought, wanted)
                target = _target(sought, None)
            if sought.why_not is None and sought.keys:
                keys = write_keys(session, sought.table, sought.keys, journal.root / draft)
                manifest = journal.state.tables[sought.table.id].manifest
                held = holdings(
                    session, journal.root, sought.table, manifest.segments, [draft], manifest.heads
                )
                (journal.root / draft).unlink()
                target = replace(
                    _target(sought, None),
                    keys=keys,
                    versions_removed=held.counts.total,
                    files_rewritten=len(held.held),
                    bytes_rewritten=sum(h.file.bytes for h in held.held),
                )
            targets.append(target)
    types = {t: len(v) for t, v in wanted.subjects.items()}
    return Request("dry-run", State.ACCEPTED, now, now, "", wanted.reason, types, tuple(targets))


def _check(wanted: Wanted) -> None:
    count = sum(len(v) for v in wanted.subjects.values())
    if count > _SUBJECTS_MAX:
        raise PalimpsestError(
            Code.ERASURE,
            f"the request names {count:,} identifiers, at most {_SUBJECTS_MAX:,} are taken",
            advice="submit several requests; they are purged in one scan",
        )
    if any(not v.strip() for values in wanted.subjects.values() for v in values):
        raise PalimpsestError(
            Code.ERASURE,
            "the request names an empty identifier",
            advice="leave empty lines out; an empty value identifies nobody",
        )


def _search(journal: Journal, wanted: Wanted) -> list[_Sought]:
    """The sealed part of every table in question."""
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            found = _sought(statement.session, statement.committed, wanted)
            for sought in found:
                if sought.why_not is None and not wanted.rows:
                    locator = Locator(
                        *(statement.session, journal.root, sought.table),
                        *(sought.identities, wanted.subjects),
                    )
                    sought.locator = locator
                    state = statement.committed.tables[sought.table.id]
                    statement.check_segments([sought.table.id])
                    locator.segments(state.manifest.segments)
            return found
    finally:
        journal.rollback(transaction)


def _sought(session: DuckDBSession, state: JournalState, wanted: Wanted) -> list[_Sought]:
    scope = load_scope(session)
    found = []
    for table_id, held in sorted(state.tables.items()):
        if not held.layouts:
            continue
        table = state.catalog.by_id(table_id) or held.layouts[-1]
        identities = ever_described(held.layouts)
        sought = _Sought(table, identities)
        sought.why_not = _why_not(table, identities, wanted) or scope.why_not(table.name)
        found.append(sought)
    if all(s.why_not is not None for s in found):
        types = ", ".join(wanted.subjects) or "a predicate"
        raise PalimpsestError(
            Code.ERASURE,
            f"no table that erasures reach identifies people by {types}",
            advice="onboard one: ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'email LOWER')",
        )
    return found


def _why_not(table: Table, identities: Iterable[Identity], wanted: Wanted) -> str | None:
    if wanted.rows:
        return None if table.id in wanted.rows else "not named"
    if wanted.tables is not None and table.name.key not in wanted.tables:
        return "not named"
    types = {i.type for i in identities}
    if not types:
        return "not onboarded: it has no erasure descriptor"
    if not types & set(wanted.subjects):
        return "identifies people by " + ", ".join(sorted(types))
    return None


def _late(state: JournalState, sought: _Sought) -> list[str]:
    """Files listed since the search; a condition is looked at anew as a whole."""
    if sought.locator is None:
        return []
    manifest = state.tables[sought.table.id].manifest
    return [f.path for s in manifest.segments for f in s.files if f.path not in sought.seen]


def _finish(journal: Journal, session: DuckDBSession, sought: _Sought, wanted: Wanted) -> None:
    """Search what was written since, and the heads."""
    locator = sought.locator
    if locator is None:
        rows = wanted.rows[sought.table.id]()
        sought.keys = [rows] if rows.num_rows else []
        return
    locator.session = session
    manifest = journal.state.tables[sought.table.id].manifest
    locator.segments(
        replace(s, files=tuple(f for f in s.files if f.path not in sought.seen))
        for s in manifest.segments
    )
    locator.heads(manifest.heads)
    sought.keys = list(locator.search.keys)


def _target(sought: _Sought, mask: str | None) -> Target:
    name = str(sought.table.name)
    if sought.why_not is not None:
        return Target(sought.table.id, name, Outcome.NOT_SEARCHED, sought.why_not)
    search = Search() if sought.locator is None else sought.locator.search
    return Target(
        sought.table.id,
        name,
        Outcome.PENDING if sought.keys else Outcome.SEARCHED_NONE,
        mask=mask,
        files_searched=len(search.read),
        files_skipped=len(search.skipped),
        bytes_searched=search.bytes_read,
        bytes_skipped=search.bytes_skipped,
    )


def _write(
    journal: Journal,
    session: DuckDBSession,
    found: Sequence[_Sought],
    wanted: Wanted,
    by: str,
) -> Request:
    """Masks, suppressions, the request and its audit entry, all in one commit."""
    request_id = journal.new_segment_id()[:12]
    now = journal.clock.next()
    expires = None if wanted.expires_us is None else now + wanted.expires_us
    writer = _Writer(journal, session, request_id, now, expires, make_secret(journal.root))
    try:
        targets = tuple(writer.target(s) for s in found)
        writer.suppress_identifiers(wanted, found)
        types = {t: len(v) for t, v in wanted.subjects.items()}
        request = Request(
            *(request_id, State.ACCEPTED, now, now, by, wanted.reason, types, targets),
            expires=expires,
        )
        rows_of.put_erasure(session, request.to_row())
        searched = [t.table for t in targets if t.outcome is not Outcome.NOT_SEARCHED]
        keys = sum(t.keys for t in targets)
        detail = {"types": types, "searched": searched, "keys": keys, "reason": wanted.reason}
        audit.record(journal, session, by, "erase.accept", request_id, detail)
        masks = {t.table_id: t.mask for t in targets if t.mask is not None}
        fence = journal.state.fence.extended(writer.kinds, now)
        journal.swap_all(session, {i: _masked(m) for i, m in masks.items()}, fenced=fence)
    except BaseException:
        writer.undo()
        raise
    return request


def _masked(mask: str) -> Callable[[TableState], TableState]:
    def masked(state: TableState) -> TableState:
        return replace(state, manifest=state.manifest.with_mask(mask))

    return masked


@dataclass(slots=True)
class _Writer:
    """Writes what hides and fences one request's rows."""

    journal: Journal
    session: DuckDBSession
    request: str
    now: Version
    expires: Version | None
    secret: str
    kinds: set[tuple[str, int | None]] = field(default_factory=set)
    written: list[str] = field(default_factory=list)

    def target(self, sought: _Sought) -> Target:
        """Write the keys found in a table; its receipt so far."""
        if not sought.keys:
            return _target(sought, None)
        mask = f"{PRIVATE}/erasure/{self.request}_t{sought.table.id}.keys"
        path = self.journal.root / mask
        path.parent.mkdir(mode=0o700, exist_ok=True)
        self.written.append(mask)
        keys = write_keys(self.session, sought.table, sought.keys, path)
        source = layout.key_rows(sought.table, [str(path)]).subquery("k")
        self._suppress(KEY_KIND, key_text(sought.table, "k"), source, sought.table.id)
        return replace(_target(sought, mask), keys=keys)

    def suppress_identifiers(self, wanted: Wanted, found: Sequence[_Sought]) -> None:
        """Fence the identifiers themselves, in every form in which tables hold them."""
        tables: list[int | None] = [None]
        if wanted.tables is not None:
            tables = [s.table.id for s in found if s.why_not is None]
        for name, values in wanted.subjects.items():
            for lower in (False, True):
                texts = texts_of(values, lower=lower)
                self.session.show_arrow(_SHOWN_VALUES, pa.table({"v": texts}))
                kind = f"id:{name}" + (" lower" if lower else "")
                for table_id in tables:
                    source = exp.alias_(exp.to_table(_SHOWN_VALUES), "v", table=True)
                    self._suppress(kind, column("v", "v"), source, table_id)

    def _suppress(self, kind: str, text: exp.Expr, source: exp.Expr, table: int | None) -> None:
        number = exp.null() if table is None else exp.Literal.number(table)
        end = exp.null() if self.expires is None else exp.Literal.number(self.expires)
        since = exp.Literal.number(self.now)
        values = (number, exp.Literal.string(self.request), since, end)
        query: Query = suppress_query(kind, text, source, values)
        self.session.execute(query, {P_SECRET: self.secret})
        self.kinds.add((kind, table))

    def undo(self) -> None:
        """Remove the files that nothing lists."""
        for mask in self.written:
            (self.journal.root / mask).unlink(missing_ok=True)


def requests(journal: OpenJournal) -> list[Request]:
    """Every request, oldest first."""
    with journal.reading_session() as session:
        return [Request.of_row(row) for row in rows_of.load_erasures(session)]


def find_request(journal: OpenJournal, wanted: str) -> Request:
    """The request of that id, or of the only id that begins so."""
    found = [r for r in requests(journal) if r.id.startswith(wanted)]
    if len(found) != 1:
        raise PalimpsestError(
            Code.ERASURE,
            f"there is {'no' if not found else 'more than one'} request {wanted}",
            advice="`palimpsest erase list` shows them",
        )
    return found[0]
