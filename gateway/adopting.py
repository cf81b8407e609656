"""Adopting and ejecting tables for a session: names as clients write them, journals that can."""

from __future__ import annotations

from gateway.procedures import database
from gateway.session import Session
from journal.commit import Author
from journal.database.adoption import Adoption, planned
from journal.database.adoption import adopt as adopt_table
from journal.database.adoption import eject as eject_table
from journal.schema import JournalFormat, TableName

_NOT_HERE = "adopt Parquet files with --from, and eject to them with --to"


def adopt(
    session: Session, table: str, key: tuple[str, ...], names: tuple[str, str, str], *, run: bool
) -> list[str]:
    """Adopt a table, or only say what that would do; ``names``: suffix and version columns."""
    suffix, start, end = names
    asked = Adoption(_name(session, table), key, JournalFormat(suffix, start, end))
    journal = database(session, _NOT_HERE)
    plan = adopt_table(journal, asked, _author(session)) if run else planned(journal, asked)
    return list(plan.steps)


def eject(session: Session, table: str, *, run: bool) -> list[str]:
    """Eject a table, or only say what that would do."""
    return eject_table(
        database(session, _NOT_HERE), _name(session, table), _author(session), run=run
    )


def _name(session: Session, table: str) -> TableName:
    schema, _, bare = table.rpartition(".")
    return TableName(schema or session.settings.schema, bare)


def _author(session: Session) -> Author:
    return Author(session.user, session.settings.application)
