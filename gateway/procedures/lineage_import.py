"""Takes the lineage of events that other programs have sent into the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gateway.lineage.openlineage_edges import lineage_of_event
from gateway.session.operations import Advance, operation
from journal.model.access import DATABASE_KEY, Privilege
from journal.model.errors import Code, PalimpsestError
from journal.records.lineage import add_lineage_of

if TYPE_CHECKING:
    from gateway.session.session import Session

_APPLICATION = "openlineage"


@operation
def import_events(
    session: Session,
    _advance: Advance,
    events: Sequence[Mapping[str, Any]],
    namespaces: Sequence[str],
) -> tuple[int, int]:
    """Record what events say, all or nothing: how many statements they have, and edges.

    Datasets of ``namespaces`` are the tables of those names. Raises PRIVILEGE without ADMIN, and
    SETTING_VALUE for what is no event.
    """
    catalog = session.catalog
    if not catalog.rights_of(session.settings.role).may(DATABASE_KEY, Privilege.ADMIN):
        raise PalimpsestError(
            Code.PRIVILEGE,
            "permission denied to import lineage",
            advice="it takes ADMIN ON SYSTEM, as it says of all tables where they come from",
        )
    found = {}
    for number, event in enumerate(events, 1):
        try:
            lineage = lineage_of_event(event, catalog, namespaces)
        except (LookupError, TypeError, AttributeError) as error:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"event {number} is no event of OpenLineage: {error!r}",
                advice="give the JSON of run events, as clients send them",
            ) from None
        if lineage is not None:
            found[lineage.id] = lineage
    by = session.recorded_user, _APPLICATION
    with session.journal.exclusive_session() as store:
        for lineage in found.values():
            add_lineage_of(store, lineage, session.journal.clock.next(), by)
        store.commit()
    return len(found), sum(len(lineage.lineage.edges) for lineage in found.values())
