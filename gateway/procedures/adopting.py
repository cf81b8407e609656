"""Adopting and ejecting tables for a session: names as clients write them, journals that can.

What the journals of a store need is imported when one of them is asked.
"""

from __future__ import annotations

from gateway.procedures.procedures import database, hive
from gateway.session.session import Session
from gateway.session.typed_names import table_name
from journal.model.schema import JournalFormat, TableName
from journal.transactions.transaction_rows import Author

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
) -> list[str]:
    """Adopt a table, or only say what that would do; ``names``: suffix and version columns.

    ``folder`` holds its Parquet files, where the metastore has no such table yet. ``stale_writes``:
    ``refuse`` or ``allow`` what others write to a classic journal and nobody could see.
    """
    name, form = _name(session, table), JournalFormat(*names)
    on_hive = hive(session.journal)
    if on_hive is not None:
        from journal.stores.hive import adoption

        wanted = adoption.HiveAdoption(name, key, form, folder)
        if run:
            done = adoption.adopt(on_hive, wanted, _author(session))
            return [*done.steps, *suppression_note(session)]
        return [*adoption.plan_only(on_hive, wanted).steps, *suppression_note(session)]
    journal = database(session, _NOT_HERE)
    from journal.stores.postgres.adoption import PostgresAdoption, planned
    from journal.stores.postgres.adoption import adopt as adopt_table

    asked = PostgresAdoption(name, key, form, stale_writes)
    plan = adopt_table(journal, asked, _author(session)) if run else planned(journal, asked)
    return [*plan.steps, *suppression_note(session)]


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
    """Eject a table, or only say what that would do."""
    name, on_hive = _name(session, table), hive(session.journal)
    if on_hive is not None:
        from journal.stores.hive.ejection import eject as eject_from_hive

        return eject_from_hive(on_hive, name, _author(session), run=run)
    journal = database(session, _NOT_HERE)
    from journal.stores.postgres.ejection import eject as eject_table

    return eject_table(journal, name, _author(session), run=run)


def _name(session: Session, table: str) -> TableName:
    return table_name(table, session.journal.state.catalog, session.settings.schema)


def _author(session: Session) -> Author:
    return Author(session.user, session.settings.application)
