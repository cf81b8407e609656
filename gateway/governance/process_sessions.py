"""Opens sessions for what entities declare, in their dialect and time zone.

They act for whoever runs the scheduler, whose user the commits bear; statements of a process have
the rights of the role that it runs as, and commits then bear both names. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.config import Settings
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.ownership import role_to_run

if TYPE_CHECKING:
    from gateway.session.session import Session


@contextmanager
def process_session(
    session: Session, entity: Entity, dialect: str | None = None, instance: str | None = None
) -> Iterator[Session]:
    """A session for an entity: days begin where the entity's do; closed at the end.

    What it commits bears the name of the entity, or of an instance of it.
    """
    fields = entity.fields
    role = None
    if entity.kind is EntityKind.PROCESS:
        role = role_to_run(session.journal.state.catalog, entity)
    settings = replace(
        # RESET ROLE in a statement leads no further than to the role that it runs as.
        Settings(schema=session.settings_at_start.schema, role=role, login_role=role),
        timezone=fields.get("timezone", "UTC"),
        application=f"palimpsest {entity.kind} {instance or entity.name}",
    )
    own = type(session)(
        *(session.journal, session.executor),
        dialect=dialect or fields.get("dialect", "duckdb"),
        autocommit=True,
        user=session.user,
        settings=settings,
        retries=session.retries,
    )
    if role is not None:
        own.user, own.proxy = session.journal.state.catalog.access.roles[role].name, session.user
    try:
        yield own
    finally:
        own.close()
