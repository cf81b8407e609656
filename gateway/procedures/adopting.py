"""Adopts and ejects tables for a session, under names as clients write them."""

from __future__ import annotations

from gateway.procedures.holds import check_no_row_held
from gateway.procedures.procedures import no_table
from gateway.session.session import Session
from gateway.session.typed_names import table_name
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import JournalFormat, Table, TableName
from journal.transactions.reading import committed_state
from journal.transactions.transaction_rows import Author
from spark_compaction.maintenance import AdoptionRequest, required

_NOT_HERE = "adopt Parquet files with --from, and eject to them with --to"


def adopt(
    session: Session,
    table: str,
    key: tuple[str, ...],
    names: tuple[str, str, str],
    *,
    run: bool,
    folder: str | None = None,
    stale_writes: str = "refuse",
    replace_view: bool = False,
) -> list[str]:
    """Adopt a table, or only say what that would do; ``names``: suffix and version columns.

    ``folder`` holds its Parquet files, where the metastore has no such table yet. ``stale_writes``:
    ``refuse`` or ``allow`` what others write to a classic journal and nobody could see.
    ``replace_view`` lets a view that has the name give way until the table is ejected; without it
    DUPLICATE_TABLE is raised.
    """
    asked = AdoptionRequest(
        *(_name(session, table), key, JournalFormat(*names), _author(session), run),
        folder=folder,
        stale_writes=stale_writes,
        replace_view=replace_view,
    )
    take_over = session.executor.maintenance.adopt
    steps = required(take_over, "adoption", session.journal.place, _NOT_HERE)(asked)
    return [*steps, *suppression_note(session)]


def suppression_note(session: Session) -> list[str]:
    """What to know of a table that is adopted where people were erased before."""
    if not session.journal.state.fence.kinds:
        return []
    found = (
        "people were erased here before: those of them who are in the table are found, and its"
        " erasure descriptor is refused until their rows are hidden (palimpsest erase returned)"
    )
    return [found]


def eject(session: Session, table: str, *, run: bool) -> list[str]:
    """Eject a table, or only say what that would do; raises HELD while a hold keeps its rows."""
    give_back = session.executor.maintenance.eject
    found = required(give_back, "ejection", session.journal.place, _NOT_HERE)
    name = _name(session, table)
    known = committed_state(session.journal).catalog.get(name)
    if isinstance(known, Table):
        check_no_row_held(session, known)
    try:
        return found(name, _author(session), run)
    except PalimpsestError as error:
        if error.code is not Code.UNKNOWN_TABLE or isinstance(known, Table):
            raise
        raise no_table(name, session.catalog, session.settings.role) from error


def _name(session: Session, table: str) -> TableName:
    return table_name(table, session.journal.state.catalog, session.settings.schema)


def _author(session: Session) -> Author:
    return Author(session.recorded_user, session.settings.application)
