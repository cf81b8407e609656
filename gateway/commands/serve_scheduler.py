"""The scheduler in the process of a server: ``palimpsest serve --scheduler N``. It serves nothing.

What it runs acts for whoever runs the server. Several servers and schedulers may run on one store:
one looks at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gateway.commands.safe_mode import own_session
from gateway.governance.process_scheduler import ProcessScheduler
from gateway.jobs.scheduler import Scheduler
from gateway.opening.open_warehouse import OpenWarehouse


@contextmanager
def scheduling(opened: OpenWarehouse, parallel: int) -> Iterator[None]:
    """Run jobs and declared processes inside the block, so many at once; none if it is 0.

    Raises DRIVER_MISSING without the package apscheduler. At the end it waits for what runs.
    """
    if not parallel:
        yield
        return
    with (
        own_session(opened) as session,
        ProcessScheduler(lambda: session, parallel=parallel) as processes,
    ):
        scheduler = Scheduler(lambda: session, parallel=parallel, beside=processes.pump)
        scheduler.start()
        try:
            yield
        finally:
            scheduler.stop()
