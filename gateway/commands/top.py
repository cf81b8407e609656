"""``palimpsest top``: who is connected, and what runs or ran last, live in a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gateway.commands.connecting import JSON_OPTION, Access, open_connection, upkeep_options
from gateway.commands.failure import exit_on_error
from gateway.commands.rows import dict_rows
from gateway.dbapi.connection import Connection
from gateway.wording import counted
from journal.model.lazy_dataclass import dataclass

_SESSIONS = (
    'SELECT id, s."user", application, client, state, statement FROM system.sessions AS s'
    " ORDER BY state, id"
)
_STATEMENTS = (
    'SELECT digest, s."user", state, count(*) AS runs, sum(seconds) AS total,'
    " max(seconds) AS slowest, sum(rows) AS rows, min(statement) AS statement"
    " FROM system.statements AS s GROUP BY ALL ORDER BY total DESC"
)


@dataclass(frozen=True, slots=True)
class ActivityReport:
    """Sessions, and statements by digest, each row by the names of its columns."""

    sessions: list[dict[str, Any]]
    statements: list[dict[str, Any]]


@click.command("top")
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 3600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look.",
)
@click.option("--once", is_flag=True, help="Look once and leave.")
@click.option(
    "-l",
    "--limit",
    type=click.IntRange(1, 500),
    default=15,
    show_default=True,
    help="How many sessions and statements to show.",
)
@JSON_OPTION
@upkeep_options
def command(interval: float, once: bool, limit: int, as_json: bool, access: Access) -> None:
    """Show who is connected, and what runs or ran last; Ctrl-C leaves.

    Statements of the same shape are one line: how often they ran lately, how long in all, and how
    long the slowest took. Values are not shown. With --json each look writes one line. Connect to
    a server, or to a folder that another program has open; on PostgreSQL and Hive stores each
    server shows its own.

    \b
    Examples:
      palimpsest top --url palimpsest://db.example:5433/
      palimpsest top --once
      palimpsest top --json --interval 10 >> activity.jsonl
    """
    with open_connection(access, "top", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            is_live = not once and not as_json and sys.stdout.isatty()
            if is_live:
                _show_live(connection, interval, limit)
                return
            while True:
                report = _report(connection, limit)
                if as_json:
                    click.echo(json.dumps(asdict(report)))
                else:
                    Console(file=sys.stdout).print(_page(report))
                if once or not as_json:
                    return
                time.sleep(interval)


def _show_live(connection: Connection, interval: float, limit: int) -> None:
    with Live(screen=True, auto_refresh=False) as live:
        while True:
            try:
                live.update(_page(_report(connection, limit)), refresh=True)
                time.sleep(interval)
            except KeyboardInterrupt:
                return


def _report(connection: Connection, limit: int) -> ActivityReport:
    return ActivityReport(
        dict_rows(connection, f"{_SESSIONS} LIMIT {limit}"),
        dict_rows(connection, f"{_STATEMENTS} LIMIT {limit}"),
    )


def _page(report: ActivityReport) -> Group:
    active = sum(row["state"] == "active" for row in report.sessions)
    title = f"{counted(len(report.sessions), 'session')}, {active} active"
    return Group(
        Text(title, style="bold"),
        _table(report.sessions, ("id", "user", "application", "client", "state", "statement")),
        _table(
            report.statements,
            ("digest", "user", "state", "runs", "total", "slowest", "rows", "statement"),
        ),
    )


def _table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in names:
        is_number = name in {"id", "runs", "total", "slowest", "rows"}
        table.add_column(
            name,
            justify="right" if is_number else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if name == "statement" else None,
        )
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in names))
    return table


def _cell(value: Any) -> Text:
    if isinstance(value, float):
        return Text(f"{value:.3f} s")
    return Text("" if value is None else str(value))
