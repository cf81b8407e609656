"""``palimpsest diff``: what differs in a table between two points in time."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TextIO

import click

from gateway.commands.connecting import (
    EARLIER_OPTION,
    JSON_OPTION,
    LATER_OPTION,
    Access,
    open_connection,
    upkeep_options,
)
from gateway.commands.diff_formats import write_as_json, write_as_tables
from gateway.commands.diff_page import write_page
from gateway.commands.diff_rows import TableDiff, read_diff
from gateway.commands.failure import exit_on_error

_TABLE_ROWS, _PAGE_ROWS = 50, 1000


@click.command("diff")
@click.argument("table")
@EARLIER_OPTION
@LATER_OPTION
@click.option(
    "-l",
    "--limit",
    type=click.IntRange(min=0),
    help=f"How many changed rows are shown; default: {_TABLE_ROWS}, {_PAGE_ROWS:,} with --html,"
    " all with --json. All are counted.",
)
@click.option(
    "--html",
    "page",
    type=click.File("w", encoding="utf-8", lazy=True, atomic=True),
    metavar="FILE",
    help="Write one self-contained page for a browser.",
)
@JSON_OPTION
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything differs.")
@upkeep_options
def command(
    table: str,
    since: str,
    until: str | None,
    limit: int | None,
    page: TextIO | None,
    as_json: bool,
    exit_code: bool,
    access: Access,
) -> None:
    """Show what differs in TABLE between two points in time: rows, columns, totals.

    Rows are compared by the key of TABLE: + is a row that only the later point has, - one that only
    the earlier has, ~ one that both have with other values. What came and went in between does
    not count. For each column there is the number of rows in which it changed, and for columns of
    numbers their sums at both points.

    With --json there is one object: "rows" with {"change", "before", "after", "changed"}, then the
    counts, "columns" and "totals". The exit code is 0, differences or not, unless --exit-code is
    given.

    \b
    Examples:
      palimpsest diff hr.depts --from '2024-05-01 12:00'
      palimpsest diff hr.depts --from 1714564800000000 --to 1714651200000000 --json
      palimpsest diff hr.depts --from 'now() - INTERVAL 1 DAY' --html changes.html
      palimpsest diff hr.depts --from 1714564800000000 --limit 0 --exit-code
    """
    if as_json and page is not None:
        raise click.UsageError("give --json or --html, not both")
    own = replace(access, dialect="duckdb")
    with (
        open_connection(own, "diff", as_json=as_json) as connection,
        exit_on_error(as_json=as_json),
    ):
        found = read_diff(connection, table, since, until, access.dialect)
        if as_json:
            write_as_json(found, limit, sys.stdout)
        elif page is not None:
            write_page(found, _PAGE_ROWS if limit is None else limit, page)
        else:
            write_as_tables(found, _TABLE_ROWS if limit is None else limit, sys.stdout)
        sys.stdout.flush()
    if exit_code and _differs(found):
        sys.exit(1)


def _differs(found: TableDiff) -> bool:
    return found.counts.rows > 0
