"""The sessions of a warehouse in this process, their statements now and lately, and their sums.

    session enters --> statement runs --> rows are sent --> ... --> session leaves

Front ends say who is behind a session; sessions say what they run. Nothing here stops or changes
anything but through the session itself, and a session that nobody closed is forgotten with it.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import field, replace
from types import TracebackType
from typing import Protocol

from gateway.activity.log_settings import slow_statement_s
from gateway.activity.statement_text import READ_MAX, shape_digest, without_literals
from gateway.config import Settings
from gateway.session.outcome import StatementOutcome
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_SLOW = logging.getLogger("palimpsest.slow")
_STATEMENTS = logging.getLogger("palimpsest.statements")
RECENT_MAX = 500
"""How many statements that have ended are remembered."""
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""The upper ends of the groups by which durations are counted."""
_STATES = {"failed": "idle in transaction (aborted)", "transaction": "idle in transaction"}
_NUMBERS = itertools.count(1)


def next_session_id() -> int:
    """A number that no other session of this process has had."""
    return next(_NUMBERS)


class RunningCalls(Protocol):
    """What a session runs at this moment."""

    @property
    def is_running(self) -> bool:
        """True while a call of the client is under way."""

    def running(self) -> AbstractContextManager[None]:
        """Marks a call of the client as running for the block."""


class WatchedSession(Protocol):
    """What is asked of a session."""

    user: str | None
    dialect: str
    settings: Settings

    @property
    def cancellation(self) -> RunningCalls:
        """What runs now."""

    @property
    def recorded_user(self) -> str | None:
        """Who acts, as records show it."""

    @property
    def status(self) -> str:
        """``idle``, ``transaction`` or ``failed``."""

    def cancel(self) -> None:
        """Stop the statement that runs."""


class StatementText(Protocol):
    """A parsed statement, as far as it is shown."""

    @property
    def text(self) -> str:
        """As the client wrote it."""


@dataclass(frozen=True, slots=True)
class _Beginning:
    text: str


@dataclass(slots=True)
class StatementActivity:
    """One statement: what it is, whose, since when, and what came of it.

    ``seconds`` is how long it has taken up to its last row that was sent, None while it runs;
    ``counted`` rows were changed or returned, -1 where only ``sent`` says; ``bytes`` went to the
    client, None where nobody counts them.
    """

    id: int
    session: SessionActivity
    user: str | None
    login_role: int | None
    application: str | None
    source: StatementText
    dialect: str
    started_s: float
    began_s: float
    tag: str = ""
    state: str = "running"
    seconds: float | None = None
    counted: int = -1
    sent: int = 0
    bytes: int | None = None
    error: PalimpsestError | None = None

    @property
    def text(self) -> str:
        """The statement without its literals."""
        return without_literals(self.source.text, self.dialect)

    @property
    def rows(self) -> int | None:
        """Rows changed or returned, as far as that is known."""
        if self.counted >= 0:
            return self.counted
        return None if self.bytes is None else self.sent

    @property
    def elapsed_s(self) -> float:
        """How long it has taken, or takes already."""
        return time.perf_counter() - self.began_s if self.seconds is None else self.seconds

    @property
    def digest(self) -> str:
        """What statements of the same shape have in common."""
        return shape_digest(self.text)


class SessionActivity:
    """One session: who is behind it, and its statements; ``leave`` ends it."""

    def __init__(self, activity: Activity, session: WatchedSession) -> None:
        self.id = next_session_id()
        self.front_end = "python"
        self.client: str | None = None
        self.started_s = time.time()
        self.last: StatementActivity | None = None
        self.session = weakref.ref(session)
        self.terminate: Callable[[], None] | None = None
        """Ends the client's connection, where it has one."""
        self._activity = activity

    def describe(
        self,
        front_end: str,
        client: str | None,
        *,
        number: int | None = None,
        terminate: Callable[[], None] | None = None,
    ) -> None:
        """Say which front end the session is of, where its client is, and how to be rid of it."""
        self.front_end, self.client, self.terminate = front_end, client, terminate
        if number is not None:
            self._activity.renumber(self, number)

    @property
    def login_role(self) -> int | None:
        """The role that has logged in; None for nobody's session, which may do everything."""
        session = self.session()
        return None if session is None else session.settings.login_role

    @property
    def state(self) -> str:
        """As in PostgreSQL's ``pg_stat_activity``."""
        session = self.session()
        if session is None:
            return "idle"
        return "active" if session.cancellation.is_running else _STATES.get(session.status, "idle")

    def running(
        self, source: StatementText
    ) -> AbstractContextManager[Callable[[StatementOutcome], StatementOutcome]]:
        """A statement of the session runs inside the block, which passes its outcome on."""
        session = self.session()
        assert session is not None, "it runs a statement"
        return _RunningStatement(
            self._activity, self._activity.begun(self, session, source), session
        )

    def sent(self, rows: int, size: int) -> None:
        """Rows of the last statement have gone to the client, in so many bytes."""
        noted = self.last
        if noted is not None:
            noted.sent += rows
            noted.bytes = size + (noted.bytes or 0)
            noted.seconds = time.perf_counter() - noted.began_s
            self._activity.sums.add_rows(rows, size)

    def leave(self) -> None:
        """The session is over."""
        self._activity.forget(self)


class _RunningStatement:
    """See ``SessionActivity.running``; as a generator, each statement would take longer."""

    __slots__ = ("_activity", "_calls", "_noted")

    def __init__(
        self, activity: Activity, noted: StatementActivity, session: WatchedSession
    ) -> None:
        self._activity, self._noted = activity, noted
        self._calls = session.cancellation.running()

    def __enter__(self) -> Callable[[StatementOutcome], StatementOutcome]:
        self._calls.__enter__()
        return self._answered

    def _answered(self, outcome: StatementOutcome) -> StatementOutcome:
        return self._activity.answered(self._noted, outcome)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        noted = self._noted
        if isinstance(error, PalimpsestError):
            noted.error = error
            noted.state = "cancelled" if error.code is Code.CANCELLED else "failed"
        elif error is not None:
            noted.state = "failed"
        try:
            self._activity.finish(noted)
        finally:
            self._calls.__exit__(kind, error, trace)


@dataclass(slots=True)
class StatementSums:
    """How many statements there were by kind and outcome, how long they took, what was sent."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    seconds: dict[str, tuple[list[int], float]] = field(default_factory=dict)
    """By kind: how many ended within each of ``BUCKETS_S`` and later, and their sum."""
    errors: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    bytes: int = 0
    sessions: int = 0

    def add(self, noted: StatementActivity) -> None:
        """A statement has ended."""
        kind, taken = noted.tag or "OTHER", noted.seconds or 0.0
        key = (kind, noted.state)
        self.counts[key] = self.counts.get(key, 0) + 1
        groups, total = self.seconds.get(kind) or ([0] * (len(BUCKETS_S) + 1), 0.0)
        place = next((i for i, end in enumerate(BUCKETS_S) if taken <= end), len(BUCKETS_S))
        groups[place] += 1
        self.seconds[kind] = (groups, total + taken)
        if noted.error is not None:
            code = noted.error.code.value.code
            self.errors[code] = self.errors.get(code, 0) + 1

    def add_rows(self, rows: int, size: int) -> None:
        """Rows have gone to a client."""
        self.rows += rows
        self.bytes += size


@dataclass(frozen=True, slots=True)
class ActivityReader:
    """Who looks at what goes on: without ADMIN a role sees what is its own."""

    is_admin: bool
    login_role: int | None

    def sees(self, what: SessionActivity | StatementActivity) -> bool:
        """True for a session or a statement that may be shown."""
        return self.is_admin or what.login_role == self.login_role


class Activity:
    """What goes on in one warehouse; shared by its sessions.

    ``slow_s``: statements that take longer are logged as warnings; None: none is. At the level
    debug all are logged.
    """

    def __init__(self) -> None:
        self.slow_s = slow_statement_s()
        self.sums = StatementSums()
        self._sessions: dict[int, SessionActivity] = {}
        self._recent: deque[StatementActivity] = deque(maxlen=RECENT_MAX)
        self._lock = threading.Lock()
        self._ids = itertools.count(1)

    def enter(self, session: WatchedSession) -> SessionActivity:
        """A session begins."""
        found = SessionActivity(self, session)
        with self._lock:
            self.sums.sessions += 1
            self._sessions[found.id] = found
        return found

    def forget(self, session: SessionActivity) -> None:
        """A session is over."""
        with self._lock:
            self._sessions.pop(session.id, None)

    def renumber(self, session: SessionActivity, number: int) -> None:
        """The session is known to its client by another number."""
        with self._lock:
            self._sessions.pop(session.id, None)
            session.id = number
            self._sessions[number] = session

    def sums_now(self) -> StatementSums:
        """The sums as they are, which nobody changes any more."""
        with self._lock:
            now = self.sums
            seconds = {kind: (list(groups), s) for kind, (groups, s) in now.seconds.items()}
            return replace(now, counts=dict(now.counts), seconds=seconds, errors=dict(now.errors))

    def sessions(self) -> list[SessionActivity]:
        """The sessions that there are, the oldest first."""
        with self._lock:
            over = [n for n, found in self._sessions.items() if found.session() is None]
            for number in over:
                del self._sessions[number]
            return sorted(self._sessions.values(), key=lambda found: found.id)

    def get(self, number: int) -> SessionActivity | None:
        """The session of a number, if there is one."""
        return next((found for found in self.sessions() if found.id == number), None)

    def statements(self) -> list[StatementActivity]:
        """Statements that run, and those that ended last, the newest first."""
        running = [s.last for s in self.sessions() if s.last and s.last.state == "running"]
        found = {noted.id: noted for noted in (*list(self._recent), *running)}
        return sorted(found.values(), key=lambda noted: -noted.id)

    def begun(
        self, of: SessionActivity, session: WatchedSession, source: StatementText
    ) -> StatementActivity:
        """A statement begins to run."""
        found = StatementActivity(
            *(next(self._ids), of, session.recorded_user, session.settings.login_role),
            session.settings.application,
            *(source, session.dialect, time.time(), time.perf_counter()),
        )
        of.last = found
        return found

    def answered(self, noted: StatementActivity, outcome: StatementOutcome) -> StatementOutcome:
        """A statement has come to something; its rows may be still to come."""
        noted.tag, noted.state, noted.counted = outcome.tag, "finished", outcome.row_count
        return outcome

    def finish(self, noted: StatementActivity) -> None:
        """A statement does not run any more."""
        noted.seconds = time.perf_counter() - noted.began_s
        if len(noted.source.text) > READ_MAX:
            # What is remembered must not hold the rows of a long INSERT.
            noted.source = _Beginning(noted.source.text[:READ_MAX])
        with self._lock:
            self.sums.add(noted)
            self._recent.append(noted)
        if self.slow_s is not None and noted.seconds >= self.slow_s:
            self._log(noted, _SLOW, logging.WARNING, "slow statement")
        elif _STATEMENTS.isEnabledFor(logging.DEBUG):
            self._log(noted, _STATEMENTS, logging.DEBUG, "statement")

    def _log(self, noted: StatementActivity, log: logging.Logger, level: int, what: str) -> None:
        found = {
            "session": noted.session.id,
            "user": noted.user,
            "client": noted.session.client,
            "digest": noted.digest,
            "seconds": round(noted.seconds or 0.0, 6),
            "state": noted.state,
            "rows": noted.rows,
            "statement": noted.text,
        }
        if noted.error is not None:
            found["error_code"] = noted.error.code.value.code
        log.log(
            *(level, "%s: %.3f s, %s: %s", what, noted.seconds, noted.state, noted.text),
            extra={"fields": found},
        )
