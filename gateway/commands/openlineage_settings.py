"""Options of ``palimpsest serve`` for events of OpenLineage, and what sends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from gateway.opening.open_warehouse import OpenWarehouse
from gateway.openlineage.client_modules import TRANSPORTS, client_module

Command = TypeVar("Command", bound=Callable[..., Any])


def openlineage_options(command: Command) -> Command:
    """Give a command the options that say where events are sent."""
    command = click.option(
        "--openlineage-namespace",
        default="palimpsest",
        show_default=True,
        metavar="NAME",
        help="The namespace of tables and jobs in these events.",
    )(command)
    return click.option(
        "--openlineage-url",
        "--openlineage",
        metavar="URL",
        help="Send events of OpenLineage of statements that write: file:///PATH, http://HOST:PORT,"
        " https://.. (key: OPENLINEAGE_API_KEY) or kafka://BROKER:PORT/TOPIC.",
    )(command)


@contextmanager
def sending_events(opened: OpenWarehouse, given: Mapping[str, Any]) -> Iterator[None]:
    """Inside the block statements of a warehouse are told of, if the options say where.

    Raises NOT_SUPPORTED without the extra ``openlineage``, SETTING_VALUE for a wrong URL.
    """
    if given["openlineage_url"] is None:
        yield
        return
    transports = client_module(TRANSPORTS)
    ledger = opened.executor.lineage
    sender = transports.sender_to(given["openlineage_url"], given["openlineage_namespace"])
    ledger.listener = sender.offer
    try:
        yield
    finally:
        ledger.listener = None
        sender.close()
