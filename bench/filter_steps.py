"""How long filters take within a write or a job: what they cost the processor, and what a clock.

Filters are built beside what else a segment needs once DuckDB has written it. So the processor's
time is that of their threads, and by the clock there is the step as a whole: it is to be held
against the same step without filters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from journal.files.filters import sidecar as filters
from journal.stores.embedded import finishing, warehouse


@dataclass(slots=True)
class Steps:
    """Seconds: of the processor for filters; of a clock, from DuckDB's last byte to whole files."""

    filters_cpu: float = 0.0
    finishing: float = 0.0


@contextmanager
def watched() -> Iterator[Steps]:
    """Add up what filters take within the block."""
    steps = Steps()

    def on_processor(work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*what: Any) -> Any:
            began = time.thread_time()
            try:
                return work(*what)
            finally:
                steps.filters_cpu += time.thread_time() - began

        return noted

    def by_clock(*what: Any) -> Any:
        began = time.perf_counter()
        try:
            return plain(*what)
        finally:
            steps.finishing += time.perf_counter() - began

    plain = warehouse.finish_files
    with ExitStack() as stack:
        for module, name in ((finishing, "filters_of"), (filters, "write_sidecar")):
            stack.enter_context(patch.object(module, name, on_processor(getattr(module, name))))
        stack.enter_context(patch.object(warehouse, "finish_files", by_clock))
        yield steps
