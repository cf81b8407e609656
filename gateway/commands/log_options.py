"""The log of a command: options before the command, below them the environment and a file."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gateway.activity.log_settings import LogSettings

_NAMES = ("PALIMPSEST_LOG_LEVEL", "PALIMPSEST_LOG_FORMAT", "PALIMPSEST_SLOW_STATEMENT")


def read_log_options(
    context: click.Context, level: str | None, form: str | None, slow_s: float | None
) -> None:
    """Keep what the options say, and begin the log if anything says something of it."""
    given = (level, form, slow_s)
    if given == (None, None, None) and not any(
        os.environ.get(name) for name in (*_NAMES, "PALIMPSEST_CONFIG")
    ):
        # Most commands log nothing, and should not wait for what would.
        return
    from gateway.activity.log_settings import LogSettings

    context.obj = LogSettings(*given)
    begin_log(LogSettings(), "warning")


def begin_log(own: LogSettings, level: str) -> LogSettings:
    """Write the log of this process as the command's ``own`` options say, else what stands below.

    ``level`` is the one where nothing says another. Raises a usage error for what cannot be.
    """
    from gateway.activity.log_settings import LogSettings, settings_around, write_log
    from journal.model.errors import PalimpsestError

    before = click.get_current_context().find_root().obj
    try:
        around = settings_around()
    except PalimpsestError as error:
        raise click.UsageError(f"{error.message}; {error.advice}") from error
    found = own.over(before if isinstance(before, LogSettings) else LogSettings()).over(around)
    found = found.over(LogSettings(level, "text"))
    write_log(found, logging.getLogger())
    return found
