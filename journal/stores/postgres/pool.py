"""Connections to a PostgreSQL database: opened when needed, kept while idle, checked before use.

With ``postgres`` and ``postgres_cursor`` the only module that imports psycopg.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import TextLoader

from journal.files.tcp_keepalive import SILENCE_S, limits, of_server
from journal.model.errors import Code, PalimpsestError
from journal.model.spelling import spelling_hint
from journal.model.version import SKEW_MAX_US
from journal.stores.postgres.adopt.guards import A_GATEWAY
from journal.stores.postgres.cursor import MonthsLoader, NarrowLoader
from journal.stores.postgres.dialect.enums import Enums, creation, place_of, type_of
from journal.stores.postgres.errors import is_starting, unreachable
from journal.stores.postgres.outcome import Outcomes
from journal.stores.postgres.server import ASK, Abilities, abilities
from journal.stores.postgres.store import PostgresSession

_IDLE_MAX = 16
_CHECK_AFTER_S = 30.0
_PAUSE_S = 0.2
_KEPT_AFTER = 3
"""So often the server plans a statement that comes often anew, before it keeps it."""
_OPTIONS = (
    "-c DateStyle=ISO,MDY -c IntervalStyle=postgres -c standard_conforming_strings=on"
    " -c extra_float_digits=1 -c bytea_output=hex -c array_nulls=on -c client_encoding=UTF8"
    " -c transform_null_equals=off -c client_min_messages=warning"
)
"""What decides how values are written and read, whatever is set for the role or the database."""
_UNLESS_TOLD = "-c jit=off"
"""A session that has compiled one statement loads its compiler into each parallel worker from then
on, which takes 10 ms of a processor; most queries do not take much longer themselves."""
_OURS = (
    "SELECT set_config('search_path',"
    " concat_ws(', ', nullif(current_setting('search_path'), ''), '_palimpsest'), false),"
    f" set_config({A_GATEWAY}, false)"
)
"""Lets calls find our functions for types that PostgreSQL's own do not take, and guards know us."""
_SOUND_PLANS = "SET max_parallel_workers_per_gather = 0; SET enable_mergejoin = off"
"""A fork of Greenplum gives rows of some joins twice in parallel plans, and calls some merge joins
of its own bad plans while it runs them."""
_NAMES = re.compile(r"-c (\w+)=")


class PostgresStore:
    """A server's database, and the connections of this process that are idle."""

    def __init__(self, conninfo: str, settings: Mapping[str, str]) -> None:
        self._conninfo = conninfo
        self._settings = dict(settings)
        self._idle: list[PostgresSession] = []
        self._lock = threading.Lock()
        self._closed = False
        self._abilities: Abilities | None = None
        self._types: set[str] = set()
        self._outcomes = Outcomes(self.lent, self.forget_idle)

    @property
    def display_name(self) -> str:
        """The database without its password, for people."""
        known = conninfo_to_dict(self._conninfo)
        host = known.get("host") or "local socket"
        return f"{known.get('dbname') or known.get('user') or ''} on {host}"

    def acquire(self) -> PostgresSession:
        """A session for one thread; give it back with ``release``."""
        return self._kept_session() or self._connect()

    def _kept_session(self) -> PostgresSession | None:
        """A session that was used before, and is not known to be dead; None if there is none."""
        while True:
            with self._lock:
                session = self._idle.pop() if self._idle else None
            if session is None or self._is_healthy(session):
                return session
            session.close()

    def begun(self, how: str, sql: str) -> tuple[PostgresSession, list[tuple[Any, ...]]]:
        """A session inside a transaction that has run constant SQL."""
        return self._first_answer(lambda session: session.begin_with(how, sql))

    def ask(self, sql: str) -> tuple[PostgresSession, list[tuple[Any, ...]]]:
        """A session that has run constant SQL that comes often, and is in no transaction."""
        return self._first_answer(lambda session: session.text(sql, often=True))

    def _first_answer(
        self, ask: Callable[[PostgresSession], list[tuple[Any, ...]]]
    ) -> tuple[PostgresSession, list[tuple[Any, ...]]]:
        """A session, and what it answers.

        When a connection turns out to be dead there is nothing to lose yet, so another one is
        tried, until a new one is dead as well: others may give dead ones back meanwhile.
        """
        while True:
            kept = self._kept_session()
            session = kept or self._connect()
            try:
                return session, ask(session)
            except PalimpsestError as error:
                session.rollback()
                self.release(session)
                if error.code is not Code.STORE_LOST or kept is None:
                    raise
                self.forget_idle()

    def _is_healthy(self, session: PostgresSession) -> bool:
        """A connection is asked before use if it lay idle, or if anything has come unasked."""
        if not session.is_usable:
            return False
        if session.is_quiet and time.monotonic() - session.used_at < _CHECK_AFTER_S:
            return True
        try:
            session.text("SELECT 1")
        except PalimpsestError:
            return False
        return True

    def release(self, session: PostgresSession) -> None:
        """Take a session back; it has no open transaction."""
        session.used_at = time.monotonic()
        with self._lock:
            if session.is_usable and not self._closed and len(self._idle) < _IDLE_MAX:
                self._idle.append(session)
                return
        session.close()

    @contextmanager
    def lent(self, session: PostgresSession | None = None) -> Iterator[PostgresSession]:
        """A session, or the one given, for a while; what is not committed then is rolled back."""
        session = session or self.acquire()
        try:
            yield session
        finally:
            self.give_back(session)

    def give_back(self, session: PostgresSession) -> None:
        """Take a session back; what it has not committed is rolled back."""
        session.rollback()
        self.release(session)

    def have_types(self, enums: Enums) -> None:
        """Make the types of enums that the database lacks, at once and for good."""
        for values in enums:
            name = type_of(values)
            if name in self._types:
                continue
            with self.lent() as session:
                place = place_of(values)
                found = session.text(f"SELECT to_regtype('{place}')::text")
                if found[0][0] is None:
                    session.text(creation(values, place))
            self._types.add(name)

    def forget_idle(self) -> None:
        """Close what is idle: after one connection was lost the others are suspect."""
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    def _connect(self) -> PostgresSession:
        patience_s = int(self._settings.get("connect_timeout", "10"))
        given = conninfo_to_dict(self._conninfo)
        more = {k: v for k, v in limits(self._silence_s()).items() if k not in given}
        watched = make_conninfo(self._conninfo, **more)
        deadline = time.monotonic() + patience_s
        while True:
            try:
                connection = psycopg.connect(
                    watched,
                    autocommit=True,
                    prepare_threshold=_KEPT_AFTER,
                    application_name="palimpsest",
                    connect_timeout=patience_s,
                    options=self._options(given),
                )
                return self._session(connection)
            except psycopg.Error as error:
                if any(name in str(error) for name in _NAMES.findall(self._options(given))):
                    self._refuse_if_old(watched, patience_s)
                if not is_starting(str(error)) or time.monotonic() > deadline:
                    raise unreachable(str(error)) from error
                time.sleep(_PAUSE_S)

    def _session(self, connection: psycopg.Connection[Any]) -> PostgresSession:
        """A session of ours on a new connection, which is closed if it cannot be one."""
        try:
            for kind in ("json", "jsonb", "inet", "cidr"):
                # These are text to clients, whichever store holds them.
                connection.adapters.register_loader(kind, TextLoader)
            connection.adapters.register_loader("interval", MonthsLoader)
            connection.adapters.register_loader("float4", NarrowLoader)
            able = self._able(connection)
            connection.execute(_OURS)
            if able.distributes:
                connection.execute(_SOUND_PLANS)
            return PostgresSession(connection, self._outcomes, able, self.have_types)
        except BaseException:
            connection.close()
            raise

    def _refuse_if_old(self, watched: str, patience_s: int) -> None:
        """Raise NOT_SUPPORTED if a server that takes not all our settings is too old for us."""
        with (
            suppress(psycopg.Error),
            psycopg.connect(watched, autocommit=True, connect_timeout=patience_s) as plain,
        ):
            self._able(plain)

    def _able(self, connection: psycopg.Connection[Any]) -> Abilities:
        """What the server can do; asked of the first connection."""
        if self._abilities is None:
            answer = connection.execute(ASK).fetchone()
            assert answer is not None
            self._abilities = abilities(answer)
        return self._abilities

    @property
    def takes_together(self) -> bool:
        """True where several statements that write can be sent in one trip."""
        able = self._abilities
        return able is not None and able.writes_several_at_once and psycopg.Pipeline.is_supported()

    def _options(self, given: Mapping[str, Any]) -> str:
        """Ours before and behind those of the URL or the environment: the last word counts."""
        told = given.get("options") or os.environ.get("PGOPTIONS", "")
        options = f"{_UNLESS_TOLD} {told} {_OPTIONS} {of_server(self._silence_s())}".strip()
        limit_ms = self._settings.get("statement_timeout")
        if limit_ms is None:
            return options
        if not limit_ms.isdigit():
            raise PalimpsestError(
                Code.URL,
                f"statement_timeout needs a whole number of milliseconds, not {limit_ms!r}",
                advice="give 0 for no limit",
            )
        return f"{options} -c statement_timeout={limit_ms}"

    def _silence_s(self) -> int:
        advice = "give 0 for what the operating system does"
        return self._seconds("silence_timeout", SILENCE_S, advice)

    @property
    def skew_max_us(self) -> int:
        """How far ahead of the wall clock, in microseconds, versions of other writers may lie."""
        advice = "give 0 if no writer's clock is ever ahead of the gateway's"
        return self._seconds("clock_skew_max", SKEW_MAX_US // 1_000_000, advice) * 1_000_000

    def _seconds(self, name: str, default: int, advice: str) -> int:
        given = self._settings.get(name, str(default))
        if not given.isdigit():
            raise PalimpsestError(
                Code.URL, f"{name} needs a whole number of seconds, not {given!r}", advice=advice
            )
        return int(given)

    def close(self) -> None:
        """Close every idle connection."""
        self._closed = True
        self.forget_idle()


_UNKNOWN_OPTION = re.compile(r'invalid URI query parameter: "(.*)"')


def check_conninfo(url: str, others: Iterable[str] = ()) -> dict[str, Any]:
    """The parts of a connection URL; raises URL when the client library cannot read it.

    ``others`` are the options that the gateway takes besides.
    """
    try:
        return conninfo_to_dict(url)
    except psycopg.Error as error:
        said = str(error).strip()
        advice = "use palimpsest+postgresql://user@host:port/database"
        unknown = _UNKNOWN_OPTION.search(said)
        if unknown is not None:
            said = f"it has an unknown option: {unknown[1]}"
            near = spelling_hint(unknown[1], [*others, *option_names()])
            advice = f"{near}known are {', '.join(others)}, and the parameters of libpq"
        raise PalimpsestError(Code.URL, f"the URL cannot be read: {said}", advice=advice) from error


def option_names() -> list[str]:
    """What libpq takes in a URL."""
    return [option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()]
