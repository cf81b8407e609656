"""Refuses, in the commit section, rows whose identifiers or keys were erased.

A transaction that began before the erasure was accepted is told to run again (40001): the second
time it no longer sees the rows. Whoever writes them later is refused. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from journal.erasure.list_parameters import list_parameters
from journal.erasure.normaliser_changes import check_normalisers
from journal.identity.descriptor import PROPERTY, descriptor_of
from journal.identity.suppression_list import SuppressionList
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA, PutRelation, Query
from journal.model.schema import Table
from journal.model.segment import Fields
from journal.model.store_session import RecordSession, StoreSession
from journal.model.version import Version
from journal.records import erasure_rows as rows_of
from journal.sql.relations import Reader, column, version_type, version_value
from journal.sql.relations_flat import is_flat
from journal.sql.sql import relation
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction

if TYPE_CHECKING:
    from journal.erasure.seam import ErasureJournal

_SHOWN = "fenced_rows"


class HidingSession(StoreSession, Protocol):
    """A session that can take back what it was shown."""

    def hide(self, *names: str) -> None:
        """Take back rows that were shown under these names."""


def load_fence(session: RecordSession) -> SuppressionList:
    """What is suppressed, as the session's transaction sees it."""
    return SuppressionList(frozenset(rows_of.load_fences(session)), rows_of.newest_fence(session))


def check_buffers(
    journal: ErasureJournal,
    session: HidingSession,
    transaction: Transaction,
    committed: JournalState,
    show: Callable[[Table, str], None],
) -> None:
    """Raise if a transaction is about to append erased rows.

    ``show`` lets queries read the transaction's rows of a table under a name.
    """
    for table_id in sorted(transaction.buffered_tables()):
        table = transaction.catalog.by_id(table_id) or committed.catalog.by_id(table_id)
        if table is None:
            continue
        if (rows_of.CHANGED, table_id) in committed.fence.kinds:
            (changed,) = session.row(_last_changed(table_id), {})
            if changed is not None and transaction.snapshot.fence.newest < int(changed):
                raise refusal(table, began_before=True)
        if not committed.fence.concerns(table):
            continue
        show(table, _SHOWN)
        fence, rows = committed.fence, exp.to_table(_SHOWN)
        since = suppressed_since(journal, session, fence, table, rows)
        late = since is not None and transaction.snapshot.fence.newest < since
        if since is not None and not late:
            since = _since(journal, session, fence.newest_of_batch(table, rows))
        session.hide(_SHOWN)
        if since is not None:
            raise refusal(table, began_before=late)


def may_be_erased(fence: SuppressionList, table: Table) -> bool:
    """False for a table of which ``check_buffers`` lets all rows pass without a look at them."""
    return (rows_of.CHANGED, table.id) in fence.kinds or fence.concerns(table)


def _last_changed(table_id: int) -> Query:
    """When values in past rows of a table were changed for the last time."""
    found = exp.select(exp.Max(this=column("since", "s")))
    found = found.from_(exp.table_("suppressions", db=STORE_SCHEMA, alias="s"))
    kind = exp.EQ(this=column("kind", "s"), expression=exp.Literal.string(rows_of.CHANGED))
    of = exp.EQ(this=column("table_id", "s"), expression=exp.Literal.number(table_id))
    return Query.of(found.where(kind, of))


def check_onboarded(
    journal: ErasureJournal,
    session: HidingSession,
    transaction: Transaction,
    committed: JournalState,
    comparable_rows: Callable[[Fields, exp.Query], exp.Expr] = lambda _, rows: relation(rows),
) -> None:
    """Raise if a table whose rows carry what was erased gets a descriptor, or comes back with it.

    NORMALISER, if the descriptor has spellings that what is on record cannot be compared by.
    ``comparable_rows`` makes rows of these columns a relation that can be compared with the list.
    """
    check_normalisers(journal, session, transaction, committed)
    for _, change in transaction.changes():
        made = change.relation if isinstance(change, PutRelation) else None
        state = committed.tables.get(made.id) if isinstance(made, Table) else None
        if not isinstance(made, Table) or state is None:
            continue
        present = committed.catalog.by_id(made.id)
        if present is None:
            # It was dropped, so whoever was erased by a condition was not looked for in it.
            present = replace(state.layouts[-1], properties=())
        found = returned_keys(committed, present, described(present, made), comparable_rows)
        if found is None:
            continue
        counted = Query.of(exp.select(exp.Count(this=exp.Star())).from_(relation(found, "f")))
        (count,) = session.row(counted, list_parameters(journal, counted))
        if count:
            raise _onboarding_refused(made, int(count))


def described(present: Table, made: Table) -> Table:
    """A table with only those identities that a new definition adds."""
    known = {(i.id, i.type) for i in descriptor_of(present)}
    text = ", ".join(str(i) for i in descriptor_of(made) if (i.id, i.type) not in known)
    return replace(present, properties=((PROPERTY, text),) if text else ())


def returned_keys(
    state: JournalState,
    present: Table,
    described: Table,
    comparable_rows: Callable[[Fields, exp.Query], exp.Expr],
) -> exp.Select | None:
    """The keys of rows, in any version, that carry what was erased; None if that cannot be.

    ``described`` is the table with the identities by which they are found.
    """
    fence = state.fence.of_people
    if not fence.concerns(described):
        return None
    names = [*present.key, *(i.path.root for i in descriptor_of(described))]
    fields = tuple((n, present.by_physical(n).type) for n in dict.fromkeys(names))
    version = present.format.version_column
    outputs = [(column(n), n) for n in (*(n for n, _ in fields), version)]
    rows = Reader(present, state.tables[present.id].tiers).journal(outputs)
    return fence.keys(described, comparable_rows((*fields, (version, version_type(present))), rows))


def _onboarding_refused(table: Table, count: int) -> PalimpsestError:
    return PalimpsestError(
        Code.ERASED,
        f"{count} {'key' if count == 1 else 'keys'} of {table.name} have rows that carry an"
        " identifier that was erased",
        advice=f"`palimpsest erase returned {table.name} --descriptor ..` hides them before the"
        " table gets its descriptor; `palimpsest erase submit --subject` finds people in dropped"
        " tables; `palimpsest erase readmit` lets them in",
    )


def check_inline(
    journal: ErasureJournal,
    session: StoreSession,
    committed: JournalState,
    appended: Iterable[int],
    version: Version,
    target: Callable[[Table], exp.Expr],
) -> None:
    """Raise if an inline statement has appended erased rows under ``version``.

    ``target`` is where rows of a table are appended to.
    """
    for table_id in appended:
        table = committed.catalog.by_id(table_id)
        if table is None or not committed.fence.concerns(table):
            continue
        number = version_value(table, exp.Literal.number(version))
        names = table.ends
        same = [exp.EQ(this=column(n), expression=number.copy()) for n in names]
        rows = exp.select("*").from_(target(table)).where(exp.or_(*same)).subquery(copy=False)
        if suppressed_since(journal, session, committed.fence, table, rows) is None:
            continue
        if is_flat(table):
            # The fence of the journal itself knows what was there before, and let these rows pass.
            continue
        if _since(journal, session, committed.fence.newest_of_batch(table, rows)) is not None:
            raise refusal(table, began_before=False)


def suppressed_since(
    journal: ErasureJournal,
    session: StoreSession,
    fence: SuppressionList,
    table: Table,
    rows: exp.Expr,
) -> Version | None:
    """When the newest suppression began that any of these rows runs into; None if none does."""
    return _since(journal, session, fence.newest_suppression(table, rows))


def has_returned(
    journal: ErasureJournal,
    session: StoreSession,
    fence: SuppressionList,
    table: Table,
    rows: exp.Expr,
) -> bool:
    """True if rows of a journal carry what may not come back, and none had it when it went."""
    return _since(journal, session, fence.returned(table, rows)) is not None


def _since(journal: ErasureJournal, session: StoreSession, query: Query) -> Version | None:
    (since,) = session.row(query, list_parameters(journal, query))
    return None if since is None else int(since)


def refusal(table: Table, *, began_before: bool) -> PalimpsestError:
    """The error of a write that would bring erased rows back."""
    if began_before:
        return PalimpsestError(
            Code.SERIALIZATION,
            f"could not serialize access: rows of {table.name} that this transaction wrote were"
            " erased meanwhile",
            advice="roll back and run the transaction again; it will not see them any more",
        )
    return PalimpsestError(
        Code.ERASED,
        f"rows for {table.name} carry an identifier or a key that was erased, or is restricted",
        advice="leave them out; if the person came back, `palimpsest erase readmit` lets them in;"
        " `palimpsest privacy lift` ends a restriction",
    )
