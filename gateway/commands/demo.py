"""``palimpsest demo``: replay a year of real flights day by day, and read its past."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from gateway.commands.failure import STATEMENT, exit_on_error
from gateway.commands.param_types import LocalFolder


@click.command("demo")
@click.option(
    "-w",
    "--warehouse",
    default="demo-warehouse",
    show_default=True,
    type=LocalFolder(),
    help="Where the demonstration keeps its warehouse; replaced by the next run.",
)
@click.option("--json", "as_json", is_flag=True, help="Write a summary for scripts, and no story.")
def command(warehouse: Path, as_json: bool) -> None:
    """Load 336,776 real flights, replay the year's operations, and read the past.

    The demonstration loads the flights out of New York in 2013 as scheduled. Then it updates each
    day's delays and deletes its cancellations, and merges planes and airports each month, in one
    transaction a day. An ordinary DuckDB runs the same statements: if any row differs, the exit
    code is 1. It tells where the columns of a report come from, and draws that in the warehouse
    as airline-report.svg, for a browser. Then jobs compact the journals, forget one plane, let half
    a year expire, and bring it back. A file declares a report of each week: the scheduler's clock
    runs through 2013, a late day has one week run again, a replica in WAREHOUSE-replica agrees, and
    an erasure waits until somebody else approves it. In the end a server lets other programs read.

    \b
    Examples:
      palimpsest demo
      palimpsest demo --json --warehouse /tmp/flights
    """
    from gateway.demo.story import run
    from gateway.demo.teller import Teller

    with exit_on_error(as_json=as_json):
        summary = run(warehouse, Teller(silent=as_json))
    if as_json:
        click.echo(json.dumps(summary, indent=1))
    if not summary["equal"]:
        sys.exit(STATEMENT)
