"""Options of ``palimpsest serve`` and ``scheduler`` for notifications, and what sends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from gateway.notifications.channels import channels_of
from gateway.notifications.event_patterns import DEFAULT, parse_patterns
from gateway.notifications.sender import NotificationSender
from gateway.session.client_session import ClientSession

Command = TypeVar("Command", bound=Callable[..., Any])


def notification_options(command: Command) -> Command:
    """Give a command the options that say who is told of what."""
    command = click.option(
        "--notifications-wait",
        type=click.FloatRange(0, 86_400),
        default=10.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to collect events for one message.",
    )(command)
    command = click.option(
        "--notifications-events",
        default=DEFAULT,
        show_default=True,
        metavar="NAMES",
        help="Which events to send: names with *, and :FAILED or :SUCCEEDED after them.",
    )(command)
    return click.option(
        "--notifications-urls",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        envvar="PALIMPSEST_NOTIFICATIONS_URLS",
        help="A file with URLs of Apprise, one a line, to which events are sent: mail, Slack, ..",
    )(command)


@contextmanager
def sending_notifications(
    open_session: Callable[[], AbstractContextManager[ClientSession]], given: Mapping[str, Any]
) -> Iterator[None]:
    """Inside the block events are sent, if the options say where.

    Raises SETTING_VALUE for a file or names that do not do, DRIVER_MISSING without the extra.
    """
    file = given["notifications_urls"]
    patterns = parse_patterns(given["notifications_events"])
    if file is None:
        yield
        return
    wait = timedelta(seconds=given["notifications_wait"])
    sender = NotificationSender(open_session, channels_of(file), patterns, wait)
    sender.start()
    try:
        yield
    finally:
        sender.close()
