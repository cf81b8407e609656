"""Operations on erasure requests: submit, list, purge, cancel, readmit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gateway.governance.safe_mode import check_not_safe, refuse_if_safe
from gateway.jobs.runs import JobRun, run_all
from gateway.jobs.runs import Request as JobRequest
from gateway.procedures.erasing import names_of
from gateway.procedures.erasure_program import erasure_backend, erasure_of
from gateway.procedures.returned_rows import returned_rows_spec
from gateway.session.operations import Advance, operation, single_operation
from journal.erasure import audit, erasure_spec
from journal.erasure import audit_check as checks
from journal.erasure.audit_anchor import Anchor
from journal.erasure.duplicates import check_duplicate
from journal.erasure.erasure_spec import ErasureSpec, find_request
from journal.erasure.requests import WAITING, ErasureRequest
from journal.erasure.scope import ErasureScope, load_scope, matches_nothing, put_scope, spelled_out
from journal.model.dependents import Dependents
from journal.model.schema import Table
from journal.model.suppression import Suppression
from journal.model.system_user import system_user
from journal.records.erasure_rows import AuditRow, audit_page, load_audit
from journal.transactions.reading import committed_state
from spark_compaction.erasure import readmission
from spark_compaction.erasure.access import Found, collect
from spark_compaction.erasure.legal_holds import definition

if TYPE_CHECKING:
    from gateway.session.session import Session

Subjects = Mapping[str, Sequence[str]]
"""Identifiers by their type."""


@single_operation
def submit(
    session: Session,
    _advance: Advance,
    subjects: Subjects,
    tables: Sequence[str],
    *,
    reason: str | None,
    expires_us: int | None,
    dependents: Dependents | None,
    suppression: Suppression,
    dry_run: bool,
) -> ErasureRequest:
    """Accept a request for people, in some tables or in all; or only count what it would reach.

    Raises DUPLICATE_ERASURE where a request that waits does all of it already.
    """
    wanted = ErasureSpec(
        subjects={kind: list(found) for kind, found in subjects.items()},
        tables=names_of(session, list(tables)),
        reason=reason,
        expires_us=expires_us,
        dependents=dependents,
        suppression=suppression,
    )
    check_duplicate(erasure_of(session).journal, wanted)
    return _accepted(session, wanted, dry_run=dry_run)


@single_operation
def submit_returned(
    session: Session,
    _advance: Advance,
    table: str,
    descriptor: str | None,
    reason: str | None,
    *,
    dry_run: bool,
) -> ErasureRequest:
    """Accept a request for the rows of a table that carry what was erased; or only count them."""
    return _accepted(
        session, returned_rows_spec(session, table, descriptor, reason), dry_run=dry_run
    )


def _accepted(session: Session, wanted: ErasureSpec, *, dry_run: bool) -> ErasureRequest:
    erasure = erasure_of(session)
    if dry_run:
        return erasure.dry_run(wanted)
    refuse_if_safe(session, "to erase")
    return erasure.accept(wanted, actor(session))


@operation
def all_requests(session: Session, _advance: Advance) -> list[ErasureRequest]:
    """Every request, oldest first."""
    return list(erasure_spec.requests(erasure_of(session).journal))


@operation
def request_of(session: Session, _advance: Advance, name: str) -> ErasureRequest:
    """The request of an id or of the beginning of one; raises ERASURE if there is none."""
    return find_request(erasure_of(session).journal, name)


@single_operation
def cancel(session: Session, advance: Advance, name: str) -> ErasureRequest:
    """Take back a request whose rows no purge has removed yet; raises ERASURE for a restriction."""
    request = request_of(session, advance, name)
    readmission.refuse_restricted([request])
    return erasure_of(session).cancel(request, actor(session))


@operation
def purge(
    session: Session, advance: Advance, names: Sequence[str], unit_bytes: int = 0
) -> tuple[list[ErasureRequest], JobRun | None]:
    """Purge requests, all that wait if none is named, as one run of the job ``purge``.

    The requests as they are then, and the run; None if nothing waited. With ``unit_bytes`` large
    tables are written anew in units, each a commit.
    """
    journal = erasure_of(session).journal
    found = [find_request(journal, name) for name in names] or erasure_spec.requests(journal)
    waiting = [r for r in found if r.state in WAITING]
    run = None
    if waiting:
        given = {"requests": ",".join(r.id for r in waiting)}
        if unit_bytes:
            given["unit_bytes"] = str(unit_bytes)
        (run,) = run_all(
            session, JobRequest("purge", given, progress=advance), [_first_table(session, waiting)]
        )
    after = {r.id: r for r in erasure_spec.requests(journal)}
    return [after[r.id] for r in (found if names else waiting)], run


def _first_table(session: Session, waiting: Sequence[ErasureRequest]) -> Table:
    """The table under which a run is on record: the largest of those with rows that go."""
    state = committed_state(session.journal)
    targets = [t for r in waiting for t in r.targets if t.table_id in state.tables]
    chosen = [t for t in targets if t.lists] or targets
    sizes = {t.table_id: state.tables[t.table_id].manifest for t in chosen}
    first = max(sizes, key=lambda i: sum(s.bytes for s in sizes[i].segments))
    return definition(state, first)


@single_operation
def readmit_request(session: Session, _advance: Advance, name: str) -> int:
    """Let identifiers and keys that a request suppressed be written again; how many."""
    refuse_if_safe(session, "to readmit")
    journal = erasure_of(session).journal
    return readmission.readmit_request(journal, find_request(journal, name), actor(session))


@single_operation
def readmit_subjects(session: Session, _advance: Advance, subjects: dict[str, list[str]]) -> int:
    """Let identifiers be written again; how many entries of the suppression list that removed."""
    refuse_if_safe(session, "to readmit")
    return readmission.readmit_subjects(erasure_of(session).journal, subjects, actor(session))


@operation
def change_scope(
    session: Session,
    _advance: Advance,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    *,
    reset: bool,
) -> tuple[ErasureScope, list[str]]:
    """Say which tables requests reach; a list that is empty stays what it was.

    The scope then, and those of the patterns given that no table fits.
    """
    journal, catalog = erasure_of(session).journal, session.catalog
    tables = [table.name for table in catalog.tables()]
    allow, deny = (
        tuple(spelled_out(p, tables, catalog.home) for p in some) for some in (allow, deny)
    )
    with journal.exclusive_session() as store:
        if reset or allow or deny:
            check_not_safe(store, "to change what erasures reach")
        found = ErasureScope() if reset else load_scope(store)
        if reset or allow or deny:
            found = put_scope(store, allow or found.allow, deny or found.deny)
            lists = {"allow": list(found.allow), "deny": list(found.deny)}
            audit.record(journal, store, actor(session), "erase.scope", "", lists)
        store.commit()
    return found, [p for p in (*allow, *deny) if p != "*" and matches_nothing(p, tables)]


@operation
def audit_check(
    session: Session,
    _advance: Advance,
    head: str | None,
    anchors: Sequence[Anchor] = (),
) -> checks.AuditCheck:
    """Whether the audit log is whole, and contains a hash and entries noted earlier."""
    return checks.verify(erasure_of(session).journal, head, anchors)


@operation
def audit_entries(session: Session, _advance: Advance) -> list[AuditRow]:
    """The audit log, oldest entry first."""
    with erasure_of(session).journal.reading_session() as store:
        return list(load_audit(store))


@operation
def audit_page_after(session: Session, _advance: Advance, after: int, most: int) -> list[AuditRow]:
    """At most so many entries of the audit log behind a number, the oldest first."""
    with erasure_of(session).journal.reading_session() as store:
        return audit_page(store, after, most)


@operation
def access_package(
    session: Session,
    _advance: Advance,
    subjects: dict[str, list[str]],
    passphrase: str,
    expires: datetime,
) -> tuple[bytes, list[Found]]:
    """All that tables hold about a person, encrypted, and what is in it by table."""
    return collect(erasure_backend(session), subjects, passphrase, expires, actor(session))


def actor(session: Session) -> str:
    """Who acts, as the audit log records it."""
    return session.recorded_user or system_user()
