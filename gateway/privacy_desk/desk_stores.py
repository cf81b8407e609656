"""The stores that a request is about: the desk's own, and those of profiles declared in it.

``.`` is the desk's own store, ``*`` it and the store of every profile. Nothing here decides about a
request; whoever asks has no transaction open meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateway.governance.entity import EntityKind
from gateway.governance.entity_operations import live_entities
from gateway.governance.process_stores import ProcessStores
from gateway.privacy_desk.desk import Desk
from gateway.session.operations import Advance, operation
from journal.identity.descriptor import ever_described, forms_by_type
from journal.identity.normalisers import Normaliser
from journal.model.access import Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from gateway.session.client_session import ClientSession
    from gateway.session.session import Session
    from journal.records.privacy_rows import PrivacyRequest

OWN, ALL = ".", "*"
STORES = "stores"
"""Where the options of a request say which stores it is about."""


class DeskStores:
    """Sessions of the stores that a desk's requests name. Close it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._others = ProcessStores(session)
        self.control = self._others.control
        """The id of the desk's own store."""

    def __enter__(self) -> DeskStores:
        return self

    def __exit__(self, *_given: object) -> None:
        self._others.close()

    @contextmanager
    def session(self, name: str) -> Iterator[ClientSession]:
        """A session of a store; raises PROCESS_STORE where it cannot be reached."""
        if name == OWN:
            yield self._session
            return
        with self._others.session(name) as found:
            yield found


@dataclass(frozen=True, slots=True)
class DescribedTypes:
    """The types of identifiers by which some stores know people.

    ``away`` are the stores that could not be asked.
    """

    types: frozenset[str]
    away: tuple[str, ...]


def known_types(session: Session) -> dict[str, tuple[Normaliser, ...]]:
    """The types of identifiers that tables describe, with the normalisers of their columns."""
    tables = committed_state(session.journal).tables.values()
    return forms_by_type(entry for held in tables for entry in ever_described(held.layouts))


@operation
def described_types(session: Session, _advance: Advance) -> list[str]:
    """The types of identifiers that requests may name."""
    Desk(session, Privilege.ACCESS)
    return sorted(known_types(session))


@operation
def offered_types(session: Session, _advance: Advance) -> list[str]:
    """The types that a submission may name which names no stores: of all that the policy names."""
    desk = Desk(session, Privilege.ACCESS)
    with desk.reading() as records:
        _, policy = desk.policy(records)
    return sorted(types_over(session, stores_meant(session, policy.stores or (OWN,))).types)


def types_over(session: Session, names: Sequence[str]) -> DescribedTypes:
    """The types that tables of some stores describe."""
    types: set[str] = set()
    away = []
    with DeskStores(session) as stores:
        for name in names:
            try:
                with failures(), stores.session(name) as found:
                    types |= set(found.perform(described_types))
            except PalimpsestError:
                away.append(name)
    return DescribedTypes(frozenset(types), tuple(away))


def stores_meant(session: Session, wanted: Sequence[str]) -> list[str]:
    """The stores that some names mean, each once; raises UNKNOWN_ENTITY for what is no profile."""
    with session.journal.reading_session() as records:
        live = live_entities(records)
    profiles = sorted(name for kind, name in live if kind is EntityKind.PROFILE)
    if ALL in wanted:
        return [OWN, *profiles]
    for name in wanted:
        if name != OWN and name not in profiles:
            raise PalimpsestError(
                Code.UNKNOWN_ENTITY,
                f"profile {name} does not exist",
                advice="name profiles of the control store, `.` for itself, or `*` for all",
            )
    return list(dict.fromkeys(wanted))


def stores_of(request: PrivacyRequest) -> tuple[str, ...]:
    """The stores that a request names, as it names them; none: it is about its own alone."""
    options: Mapping[str, list[str]] = request.detail.get("options", {})
    return tuple(options.get(STORES, ()))
