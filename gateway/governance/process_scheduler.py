"""Runs declared processes: looks at the records, and runs what it began in a pool of threads.

    look (one scheduler of a store at a time) -> attempts that are RUNNING for us -> threads

A scheduler holds a lock of its name for as long as it is there. So what an ended one began is
found, and begun again; what it had committed stays (see ``instance_commits``). Attempts that
somebody suspends or kills are stopped.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING

from gateway.governance.process_runner import InstanceRun, ProcessRunner
from gateway.governance.process_stores import ProcessStores
from gateway.governance.scheduler_memory import SchedulerMemory
from gateway.governance.scheduler_tick import LEASE, SchedulerTick
from gateway.governance.settling import clear_ended
from gateway.governance.started_instance import StartedInstance
from gateway.session.operations import Advance, operation
from journal.model.errors import PalimpsestError
from journal.model.failures import failures
from journal.model.version import to_datetime
from journal.records import instance_rows

if TYPE_CHECKING:
    from gateway.session.session import Session

_LOG = logging.getLogger("palimpsest.processes")
SWEEP_S = 600.0
"""How often fences that are needed no more are looked for in other stores."""
WATCH_S = 1.0
"""How often attempts that run are compared with the records."""
OnInstance = Callable[[InstanceRun], None]


@operation
def run_processes(
    session: Session, _advance: Advance, parallel: int = 1, at: datetime | None = None
) -> list[InstanceRun]:
    """Run the instances of scheduled processes that are due, until nothing is.

    ``at`` is the moment that counts as now; None: the clock's.
    """
    with ProcessScheduler(
        lambda: session, parallel=parallel, now=None if at is None else lambda: at
    ) as scheduler:
        return scheduler.once()


class ProcessScheduler:
    """Runs declared processes inside the calling process; close it, or use it as a context.

    ``sessions`` returns a session of the store, ``parallel`` is how many instances run at once.
    ``now`` tells the time in place of the journal's clock.

    >>> import gateway
    >>> connection = gateway.connect("palimpsest://", autocommit=True)
    >>> with ProcessScheduler(lambda: connection.session) as scheduler:
    ...     scheduler.once()
    []
    """

    def __init__(
        self,
        sessions: Callable[[], Session],
        *,
        parallel: int = 1,
        now: Callable[[], datetime] | None = None,
        on_run: OnInstance = lambda _run: None,
    ) -> None:
        self._sessions = sessions
        self._journal = sessions().journal
        self._parallel = parallel
        self._now = now or (lambda: to_datetime(self._journal.clock.now()))
        self._on_run = on_run
        self._owner = uuid.uuid4().hex[:12]
        self._memory = SchedulerMemory()
        self._stores = ProcessStores(sessions())
        self._swept_at = float("-inf")
        self._running: dict[tuple[str, int], Callable[[], None] | None] = {}
        self._futures: dict[tuple[str, int], Future[InstanceRun]] = {}
        self._lock = threading.RLock()
        self._pool: ThreadPoolExecutor | None = None
        self._held = ExitStack()
        self.has_more = False
        """True if the next look would find something to do at once."""
        self._has_name = False
        self._is_closed = False

    def __enter__(self) -> ProcessScheduler:
        return self

    def __exit__(self, *_given: object) -> None:
        self.close()

    def close(self) -> None:
        """Begin nothing more, and wait for what runs."""
        self._is_closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        self._held.close()
        self._stores.close()

    def tick(self) -> list[StartedInstance]:
        """Look once, and begin as many instances as there are free threads."""
        with self._lock:
            if self._is_closed:
                return []
            self._hold_name()
            with self._journal.exclusive(f"scheduler:{LEASE}") as is_mine:
                if not is_mine:
                    return []
                tick = SchedulerTick(
                    *(self._sessions(), self._owner, self._now(), self._is_alive),
                    set(self._running),
                    self._memory,
                    self._stores,
                )
                started = tick.run(self._parallel - len(self._running))
                self.has_more = tick.has_more
                self._sweep()
            for one in started:
                self._running[one.row.id, one.row.fence] = None
            return started

    def _sweep(self) -> None:
        """Now and then remove what ended instances have left in other stores."""
        if time.monotonic() < self._swept_at + SWEEP_S:
            return
        self._swept_at = time.monotonic()
        for profile in sorted(self._memory.store_profiles):
            try:
                clear_ended(self._sessions(), self._stores, profile)
            except PalimpsestError as error:
                _LOG.info("fences in profile %s are cleared later: %s", profile, error)

    def once(self) -> list[InstanceRun]:
        """Run what is due until nothing is; each attempt, in the order in which they ended."""
        runs: list[InstanceRun] = []
        while True:
            self._submit(self.tick())
            with self._lock:
                pending = list(self._futures.values())
            if not pending:
                if self.has_more:
                    continue
                return runs
            done, _ = wait(pending, timeout=WATCH_S, return_when="FIRST_COMPLETED")
            runs += [future.result() for future in done]
            with self._lock:
                self._futures = {k: f for k, f in self._futures.items() if f not in done}
            self.watch()

    def pump(self) -> None:
        """Look, begin what can begin, and stop what lost its instance; for a timer to call."""
        try:
            with failures():
                self.watch()
                while True:
                    started = self.tick()
                    self._submit(started, goes_on=True)
                    if not self.has_more:
                        break
        except PalimpsestError as error:
            _LOG.warning("the scheduler could not look at the processes: %s", error)

    def watch(self) -> None:
        """Stop attempts whose instances were suspended, killed or timed out."""
        with self._lock:
            running = dict(self._running)
        if not running:
            return
        with self._journal.reading_session() as records:
            for (instance, fence), stop in running.items():
                row = instance_rows.load_instance(records, instance)
                is_over = row is None or (row.state, row.fence) != ("RUNNING", fence)
                if is_over and stop is not None:
                    threading.Thread(target=stop, daemon=True).start()

    def _submit(self, started: list[StartedInstance], *, goes_on: bool = False) -> None:
        if not started:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._parallel, "instance")
        for one in started:
            key = (one.row.id, one.row.fence)
            future = self._pool.submit(self._run, one, goes_on)
            if not goes_on:
                with self._lock:
                    self._futures[key] = future

    def _run(self, started: StartedInstance, goes_on: bool) -> InstanceRun:
        key = (started.row.id, started.row.fence)

        def note_stop(_instance: str, stop: Callable[[], None]) -> None:
            with self._lock:
                self._running[key] = stop

        try:
            with failures():
                runner = ProcessRunner(self._sessions(), self._now, note_stop, self._stores)
                run = runner.run(started)
        except PalimpsestError as error:
            # The store is out of reach: the next look finds the attempt, and begins it again.
            row = started.row
            run = InstanceRun(*(row.id, row.entity, row.nominal, "LOST", row.fence, 0.0), error)
        finally:
            with self._lock:
                self._running.pop(key, None)
        log_instance(run)
        self._on_run(run)
        if goes_on and not self._is_closed:
            self.pump()
        return run

    def _hold_name(self) -> None:
        """Hold the lock that shows others that this scheduler is there."""
        if not self._has_name:
            self._held.enter_context(self._journal.exclusive(_runner_lock(self._owner)))
            self._has_name = True

    def _is_alive(self, owner: str) -> bool:
        with self._journal.exclusive(_runner_lock(owner)) as is_free:
            return not is_free


def _runner_lock(owner: str) -> str:
    return f"runner:{owner}"


def log_instance(run: InstanceRun) -> None:
    """Log how an attempt ended, without data."""
    fields = {
        "instance": run.id,
        "state": run.state,
        "attempt": run.attempt,
        "error_code": None if run.error is None else run.error.code.value.code,
    }
    level = logging.WARNING if run.failed else logging.INFO
    why = "" if run.error is None else f": {run.error.code.value.title}"
    _LOG.log(
        level,
        *("%s: %s%s", run.id, run.state.lower(), why),
        extra={"fields": fields},
    )
