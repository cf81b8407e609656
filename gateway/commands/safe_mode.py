"""``palimpsest safe-mode``: begin and end safe mode, in which the store takes no new orders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import click

from gateway.commands.connecting import (
    JSON_OPTION,
    Access,
    perform,
    upkeep_options,
)
from gateway.config import Settings
from gateway.governance import safe_mode
from gateway.opening.open_warehouse import OpenWarehouse
from gateway.session.session import Session
from journal.model.system_user import system_user
from journal.records.safe_mode_rows import SafeModeRow


@click.group("safe-mode")
def command() -> None:
    """Refuse changes of entities, reruns and erasures while stores are moved.

    Reading, suspending and killing go on, and so does what was ordered before: jobs of policies,
    instances that run, purges of accepted requests. Submitting, updating, scheduling, touching,
    resuming and deleting entities, rerunning instances and erasing are refused, also after a
    restart, until an administrator ends it.

    \b
    Examples:
      palimpsest safe-mode on --reason "moving to the new cluster"
      palimpsest safe-mode status
      palimpsest safe-mode off
    """


@command.command("on")
@click.option("--reason", default="", metavar="TEXT", help="Why; errors and status say it.")
@JSON_OPTION
@upkeep_options
def on(reason: str, as_json: bool, access: Access) -> None:
    """Begin safe mode; a repeat changes nothing.

    \b
    Examples:
      palimpsest safe-mode on --reason "moving to the new cluster"
    """
    found = perform(access, "safe-mode", as_json, safe_mode.begin_safe_mode, reason)
    _write(found, as_json)


@command.command("off")
@JSON_OPTION
@upkeep_options
def off(as_json: bool, access: Access) -> None:
    """End safe mode; a repeat changes nothing.

    \b
    Examples:
      palimpsest safe-mode off
    """
    found = perform(access, "safe-mode", as_json, safe_mode.end_safe_mode)
    _write(found, as_json)


@command.command("status")
@JSON_OPTION
@upkeep_options
def status(as_json: bool, access: Access) -> None:
    """Show whether safe mode is on, since when, by whom and why.

    \b
    Examples:
      palimpsest safe-mode status --json
    """
    found = perform(access, "safe-mode", as_json, safe_mode.current_safe_mode)
    _write(found, as_json)


def begin_safe(opened: OpenWarehouse) -> None:
    """Begin safe mode as whoever starts a program on an open warehouse."""
    with own_session(opened) as session:
        session.perform(safe_mode.begin_safe_mode, "begun with the program")


@contextmanager
def own_session(opened: OpenWarehouse) -> Iterator[Session]:
    """A session of whoever runs the program, for what it does by itself."""
    user = system_user()
    session = opened.session(Settings(), dialect="duckdb", autocommit=True, user=user)
    try:
        yield session
    finally:
        session.close()


def safe_mode_text(found: SafeModeRow | None) -> str:
    """Safe mode in one line."""
    if found is None:
        return "safe mode is off"
    why = f": {found.reason}" if found.reason else ""
    state = "on" if found.is_on else "off"
    return (
        f"safe mode is {state}, since {found.changed_at:%Y-%m-%d %H:%M:%S} UTC"
        f" by {found.user_name}{why}"
    )


def safe_mode_object(found: SafeModeRow | None) -> dict[str, object]:
    """Safe mode as ``--json`` and HTTP write it."""
    return {
        "is_on": found is not None and found.is_on,
        "changed_at": None if found is None else found.changed_at.isoformat(),
        "user": None if found is None else found.user_name,
        "reason": None if found is None else found.reason,
    }


def _write(found: SafeModeRow | None, as_json: bool) -> None:
    click.echo(json.dumps(safe_mode_object(found)) if as_json else safe_mode_text(found))
