"""Opens the stores of profiles in which processes run, and keeps their sessions.

A store that could not be reached is not asked again for a while, so that its processes keep no
others waiting. A folder without a warehouse is refused, not made.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from gateway.config import Settings
from gateway.governance.entity import Entity, EntityKind
from gateway.opening.folder_urls import check_exists, key
from gateway.opening.schemes import is_database
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.records.catalog_format import get_meta
from journal.records.entity_rows import entity_versions

if TYPE_CHECKING:
    from gateway.session.client_session import ClientSession
    from gateway.session.session import Session

PATIENCE_S = 30.0
"""How long a store that could not be reached is left alone."""
_STORE_ID = "id"
_OPENER = "gateway.opening.sessions"
"""Named, as jobs are: what opens a store also loads what runs its statements about entities."""


class OtherStore(Protocol):
    """A session of another store, to be closed."""

    @property
    def session(self) -> ClientSession:
        """The session."""

    def close(self) -> None:
        """Let go of the store."""


class ProcessStores:
    """Sessions of the stores of profiles that the store of a session declares.

    Threads may share one. Close it: until then the stores that it has opened stay open.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._refused: dict[str, tuple[float, PalimpsestError]] = {}
        self._kept_open: dict[str, OtherStore] = {}
        self._lock = threading.Lock()
        with session.journal.reading_session() as records:
            self.control = get_meta(records, _STORE_ID) or ""
        """The id of the store that has the instances."""

    @contextmanager
    def session(self, profile: str, *, again: bool = True) -> Iterator[ClientSession]:
        """A session of a profile's store; raises PROCESS_STORE where there is none.

        Without ``again`` a store that has just been out of reach is not tried.
        """
        refused = self._refused.get(profile)
        if refused is not None and not again and time.monotonic() < refused[0] + PATIENCE_S:
            raise refused[1]
        try:
            with failures():
                opened = self._opened(profile)
        except PalimpsestError as error:
            told = unreachable(profile, error)
            self._refused[profile] = (time.monotonic(), told)
            raise told from error
        self._refused.pop(profile, None)
        try:
            yield opened.session
        finally:
            opened.close()

    def __enter__(self) -> ProcessStores:
        return self

    def __exit__(self, *_given: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the stores."""
        with self._lock:
            kept, self._kept_open = self._kept_open, {}
        for opened in kept.values():
            with suppress(PalimpsestError):
                opened.close()

    def _opened(self, profile: str) -> OtherStore:
        fields = _profile(self._session, profile).fields
        url: str = fields["url"]
        if not is_database(url):
            check_exists(url, key(url))  # Where a relative path leads from here.
        settings, own = Settings(), self._session.settings
        for name, value in (
            ("job_engine", fields.get("engine") or own.job_engine),
            ("spark_master", fields.get("master") or own.spark_master),
        ):
            settings = settings.with_setting(name, value)
        with self._lock:
            if url not in self._kept_open:
                self._kept_open[url] = _session_of(url, self._session, settings)
        return _session_of(url, self._session, settings)


def unreachable(profile: str, error: PalimpsestError) -> PalimpsestError:
    """The error for a store that cannot be asked."""
    return PalimpsestError(
        Code.PROCESS_STORE,
        f"the store of profile {profile} cannot be reached: {error.message}",
        advice=f"`palimpsest entity definition profile {profile}` shows its url: let that be"
        " reached, or move the profile in safe mode",
    )


def _session_of(url: str, session: Session, settings: Settings) -> OtherStore:
    found: OtherStore = import_module(_OPENER).open_session(
        url,
        dialect="duckdb",
        autocommit=True,
        user=session.recorded_user,
        application="palimpsest scheduler",
        settings=settings,
    )
    return found


def _profile(session: Session, name: str) -> Entity:
    with session.journal.reading_session() as records:
        versions = entity_versions(records, EntityKind.PROFILE.value, name)
    if not versions or versions[-1].ended_at is not None:
        raise PalimpsestError(
            Code.UNKNOWN_ENTITY,
            f"profile {name} does not exist",
            advice="`palimpsest entity submit` declares it",
        )
    return Entity(EntityKind.PROFILE, name, versions[-1].definition)
