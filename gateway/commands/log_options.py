"""The log of a command: options before the command, below them the environment and a file."""

from __future__ import annotations

import logging

import click

from gateway.activity.log_settings import LogSettings, settings_around, write_log
from journal.model.errors import PalimpsestError


def begin_log(own: LogSettings, level: str) -> None:
    """Write the log of this process as the command's ``own`` options say, else what stands below.

    Below are options before the command, the environment, and a file; ``level`` is the one where
    nothing says another. Raises a usage error for what cannot be.
    """
    before = click.get_current_context().find_root().obj
    try:
        around = settings_around()
    except PalimpsestError as error:
        raise click.UsageError(f"{error.message}; {error.advice}") from error
    chosen = own.with_defaults(before if isinstance(before, LogSettings) else LogSettings())
    write_log(
        chosen.with_defaults(around).with_defaults(LogSettings(level, "text")), logging.getLogger()
    )


def read_log_options(
    context: click.Context, level: str | None, form: str | None, slow_s: float | None
) -> None:
    """Keep what the options before a command say, and begin the log."""
    context.obj = LogSettings(level, form, slow_s)
    begin_log(LogSettings(), "warning")
