"""Opens the HTTP port of a server on a warehouse."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gateway.opening.open_warehouse import OpenWarehouse
from gateway.servers.addresses import Address, parse_address, tcp_listener
from gateway.servers.http.answers import Exposition, OperatorPages
from gateway.servers.http.operator_server import OperatorServer
from gateway.servers.http.readiness import Readiness
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.lazy_dataclass import dataclass
from journal.records.event_rows import EventCount, event_counts
from journal.records.service_level_rows import load_missed
from journal.transactions.reading import committed_state

PORT = 8080
_LOG = logging.getLogger("palimpsest.http")


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Where the port is, None for nowhere; the names it has; and the file of the metrics' token."""

    address: str | None
    names: tuple[str, ...]
    token_file: Path | None


def check_http(options: HttpOptions) -> None:
    """Raise SETTING_VALUE for an address that is none, and for a file without a token."""
    if options.address is not None:
        parse_address(options.address, PORT)
    _token(options.token_file)


@contextmanager
def http_port(
    opened: OpenWarehouse, options: HttpOptions, connections: Callable[[], int]
) -> Iterator[tuple[Readiness, list[str]]]:
    """Answer inside the block; what to tell of the end, and the URL if there is a port.

    Raises SETTING_VALUE for an address that cannot be had, and for a file without a token.
    """
    readiness = Readiness(lambda: committed_state(opened.journal))
    if options.address is None:
        yield readiness, []
        return
    place = parse_address(options.address, PORT)
    exposition = _exposition(opened, connections)
    pages = OperatorPages(
        readiness.reason_against,
        frozenset(name.lower() for name in options.names),
        exposition,
        _token(options.token_file),
        place.is_loopback,
    )
    listener = tcp_listener(place)
    server = OperatorServer(listener, pages)
    try:
        yield readiness, [f"http://{Address(*listener.getsockname()[:2])}/"]
    finally:
        server.close()


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    found = file.read_text().strip()
    if not found:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{file} is empty",
            advice="write the token for metrics into it, on one line",
        )
    return found


def _exposition(opened: OpenWarehouse, connections: Callable[[], int]) -> Exposition | None:
    if importlib.util.find_spec("prometheus_client") is None:
        return None
    from gateway.servers.http.metrics import exposition

    return exposition(opened.executor.activity, connections, partial(_event_counts, opened))


def _event_counts(opened: OpenWarehouse) -> tuple[list[EventCount], int]:
    """Events and marks that are missed; none where no store answers, so that the rest is shown."""
    try:
        with failures(), opened.journal.reading_session() as records:
            missed = sum(row.met_at is None for row in load_missed(records))
            return event_counts(records), missed
    except PalimpsestError as error:
        _LOG.warning("events cannot be counted now: %s", error.message)
        return [], 0
