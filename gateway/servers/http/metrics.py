"""What Prometheus gathers: sessions, statements by kind, errors by code, rows and bytes.

No label holds a name, a text or a value of anybody; kinds and codes are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from gateway.activity.activity import BUCKETS_S, Activity
from gateway.version import VERSION
from journal.records.event_rows import EventCount

_STATES = ("active", "idle", "idle in transaction", "idle in transaction (aborted)")


EventCounts = Callable[[], tuple[Sequence[EventCount], int]]
"""The counts of events, and how many marks of service levels are missed and unmet."""


def no_events() -> tuple[Sequence[EventCount], int]:
    """Nothing, as where the store does not answer now."""
    return (), 0


def exposition(
    activity: Activity, connections: Callable[[], int], event_counts: EventCounts = no_events
) -> Callable[[str], tuple[bytes, str]]:
    """From an Accept header to the metrics of now, and their content type."""
    registry = CollectorRegistry()
    registry.register(_ActivityCollector(activity, connections))
    registry.register(_EventCollector(event_counts))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)

    def encoded(accept: str) -> tuple[bytes, str]:
        encode, kind = choose_encoder(accept)
        return encode(registry), kind

    return encoded


class _EventCollector(Collector):
    """What happened to entities, instances and data, whichever process did it."""

    def __init__(self, counts: EventCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        labels = ["name", "status"]
        events = CounterMetricFamily("palimpsest_events", "Events of governance", labels=labels)
        seconds = CounterMetricFamily(
            "palimpsest_event_seconds", "How long what they tell of took", labels=labels
        )
        counts, missed = self._counts()
        for count in counts:
            events.add_metric([count.name, count.status], count.events)
            seconds.add_metric([count.name, count.status], count.duration_us / 1e6)
        yield events
        yield seconds
        yield GaugeMetricFamily(
            "palimpsest_sla_backlog", "Marks of service levels missed and not met yet", missed
        )


class _ActivityCollector(Collector):
    def __init__(self, activity: Activity, connections: Callable[[], int]) -> None:
        self._activity = activity
        self._connections = connections

    def collect(self) -> Iterator[Metric]:
        sums = self._activity.sums_now()
        yield InfoMetricFamily("palimpsest", "The gateway", value={"version": VERSION})
        states = [session.state for session in self._activity.sessions()]
        sessions = GaugeMetricFamily("palimpsest_sessions", "Sessions there are", labels=["state"])
        for state in _STATES:
            sessions.add_metric([state], states.count(state))
        yield sessions
        yield GaugeMetricFamily(
            "palimpsest_connections", "Clients of the PostgreSQL protocol", self._connections()
        )
        yield CounterMetricFamily("palimpsest_sessions_opened", "Sessions so far", sums.sessions)
        counts = CounterMetricFamily(
            "palimpsest_statements", "Statements that ended", labels=["kind", "state"]
        )
        for (kind, state), count in sorted(sums.counts.items()):
            counts.add_metric([kind, state], count)
        yield counts
        yield self._durations(sums.seconds)
        errors = CounterMetricFamily("palimpsest_errors", "Statements by error", labels=["code"])
        for code, count in sorted(sums.errors.items()):
            errors.add_metric([code], count)
        yield errors
        yield CounterMetricFamily("palimpsest_rows_sent", "Rows sent to clients", sums.rows)
        yield CounterMetricFamily("palimpsest_bytes_sent", "Bytes of rows sent", sums.bytes)

    def _durations(self, seconds: dict[str, tuple[list[int], float]]) -> Metric:
        found = HistogramMetricFamily(
            "palimpsest_statement_seconds", "How long statements ran", labels=["kind"]
        )
        ends = [*(str(end) for end in BUCKETS_S), "+Inf"]
        for kind, (groups, total) in sorted(seconds.items()):
            found.add_metric([kind], list(zip(ends, accumulate(groups), strict=True)), total)
        return found
