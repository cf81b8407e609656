"""The command ``palimpsest``: a group whose commands are imported when they are called.

Exit codes: 0 done; 1 the statement failed or a check found something wrong; 2 wrong use of the
command line; 3 no connection to the warehouse; 4 another transaction came first (40001), the
same command may succeed when run again; 5 an erasure that left copies unsearched; 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import sys
import threading
from difflib import get_close_matches
from typing import Any, NoReturn

import click

from gateway import __version__

COMMANDS = {
    "init": "gateway.commands.init",
    "query": "gateway.commands.query",
    "preview": "gateway.commands.preview",
    "lineage": "gateway.commands.lineage",
    "import": "gateway.commands.import_file",
    "rejects": "gateway.commands.rejects",
    "export": "gateway.commands.export",
    "log": "gateway.commands.log",
    "diff": "gateway.commands.diff",
    "flush": "gateway.commands.flush",
    "verify": "gateway.commands.verify",
    "job": "gateway.commands.job",
    "scheduler": "gateway.commands.scheduler",
    "replica": "gateway.commands.replica",
    "entity": "gateway.commands.entity",
    "instance": "gateway.commands.instance",
    "sla": "gateway.commands.sla",
    "template": "gateway.commands.template",
    "safe-mode": "gateway.commands.safe_mode",
    "adopt": "gateway.commands.adopt",
    "eject": "gateway.commands.eject",
    "hold": "gateway.commands.hold",
    "erase": "gateway.commands.erase",
    "access": "gateway.commands.access",
    "privacy": "gateway.commands.privacy",
    "tags": "gateway.commands.tags",
    "audit": "gateway.commands.audit",
    "shell": "gateway.commands.shell",
    "serve": "gateway.commands.serve",
    "status": "gateway.commands.status",
    "top": "gateway.commands.top",
    "demo": "gateway.commands.demo",
}
SUMMARIES = {
    "init": "Make a warehouse in a directory (./warehouse unless you name another).",
    "query": "Run SQL statements and write their results.",
    "preview": "Show the SQL that a statement is rewritten to, step by step.",
    "lineage": "Show from which columns statements derive the columns that they write.",
    "import": (
        "Append the rows of a CSV, JSON or Parquet FILE, or of a database, to TABLE: all, or none."
    ),
    "rejects": "List and remove the files with rows that imports left out.",
    "export": "Write the current rows of TABLE, or the rows of QUERY, to FILE or into a database.",
    "log": "List the commits, the latest first, or those that changed TABLE.",
    "diff": "Show what differs in TABLE between two points in time: rows, columns, totals.",
    "flush": "Seal the head of TABLE (of every table, if none is named) into a Parquet segment.",
    "verify": "Check the whole warehouse: files, manifests, and the rows in them.",
    "job": "Run a job of KIND on TABLES.",
    "scheduler": "Run jobs and declared processes when they are due, until interrupted.",
    "replica": "List replicas, promote one when its source is lost, and demote it again.",
    "entity": "Declare profiles, datasets and processes, with what they depend on.",
    "instance": "Show the instances of processes, and suspend, resume, kill or rerun them.",
    "sla": "List the marks of service levels that are pending or missed, of all entities or one.",
    "template": "Make entities from templates with parameters.",
    "safe-mode": "Refuse changes of entities, reruns and erasures while stores are moved.",
    "adopt": "Adopt an existing table: the gateway manages it from then on.",
    "eject": "Turn TABLE back into a plain table of its current rows, without the gateway.",
    "hold": "Place, list and release legal holds, which keep rows from removal.",
    "erase": "Erase people from every version, segment, backup and list.",
    "access": "Write all that tables hold about a person as an encrypted package that expires.",
    "privacy": "Take requests of people, follow them, and execute them in batches.",
    "tags": "Propose tags for columns that hold personal data, and list those that there are.",
    "audit": "Show and verify the audit log of erasures and access packages, and their outcome.",
    "shell": "Open a SQL shell on a warehouse; make the warehouse if there is none.",
    "serve": "Serve a warehouse to clients of PostgreSQL, Hive and Flight SQL, until interrupted.",
    "status": "Show who has a warehouse open, sizes by tier, jobs that are due, and failures.",
    "top": "Show who is connected, and what runs or ran last; Ctrl-C leaves.",
    "demo": "Load 336,776 real flights, replay the year's operations, and read the past.",
}
"""What the list of commands says of each, as its own help begins. No command is loaded for it."""
_LOG_VARIABLES = ("PALIMPSEST_LOG_LEVEL", "PALIMPSEST_LOG_FORMAT", "PALIMPSEST_SLOW_STATEMENT",
                  "PALIMPSEST_CONFIG")  # fmt: skip
_COLLECT_AFTER = 300_000
"""So many objects more than before, and the collector runs."""


class LazyGroup(click.Group):
    """Imports a command's module only when that command is called, or its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the table above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; each module calls its own ``command``."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        found: click.Command = importlib.import_module(module).command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that a line names; a misspelled one is told what is near it."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options before the command; one of a command is told where it belongs."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = next((word for word in words if word in COMMANDS), None)
            command = None if name is None else self.get_command(ctx, name)
            known = [] if command is None else [o for p in command.params for o in p.opts]
            if error.option_name in known:
                hint = f"it belongs behind the command: palimpsest {name} {error.option_name} .."
                ctx.fail(f"No such option {error.option_name!r} before the command; {hint}")
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; interrupted before it looks after that itself, leave with 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(130)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Take the command line; what no command looks after leaves with an exit code, too."""
        given = kwargs.get("args", args[0] if args else None)
        words = sys.argv[1:] if given is None else list(given)
        as_json = "--json" in words
        try:
            try:
                if as_json:
                    return self._main_as_json(*args, **kwargs)
                return super().main(*args, **kwargs)
            except SystemExit as leaving:
                if not leaving.code:
                    sys.stdout.flush()
                raise
        except OSError as error:
            from gateway.commands.failure import fail_on_os_error

            fail_on_os_error(error, as_json=as_json)

    def _main_as_json(self, *args: Any, **kwargs: Any) -> NoReturn:
        """As ``main``; what click says of wrong use is an object on stderr, as other errors are."""
        try:
            found = super().main(*args, **kwargs | {"standalone_mode": False})
        except click.ClickException as error:
            usage = error.ctx if isinstance(error, click.UsageError) else None
            advice = None if usage is None else f"{usage.command_path} --help shows its options"
            told = {"code": None, "sqlstate": None, "message": error.format_message()}
            click.echo(json.dumps({"error": told | {"position": None, "advice": advice}}), err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("interrupted", err=True)
            sys.exit(130)
        sys.exit(found if isinstance(found, int) else 0)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="palimpsest")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Log lines of this level and above, on standard error. Default: warning; info for serve"
    " and scheduler.",
)
@click.option("--log-format", type=click.Choice(["text", "json"]), help="The format of the log.")
@click.option(
    "--slow-statement",
    type=click.FloatRange(0, 86_400),
    metavar="SECONDS",
    help="Log statements that take longer, without their values.",
)
@click.pass_context
def main(
    context: click.Context,
    log_level: str | None,
    log_format: str | None,
    slow_statement: float | None,
) -> None:
    """Ordinary SQL tables over append-only journals, with every earlier version readable.

    \b
    Begin with:
      palimpsest demo                           a year of real flights, and its past
      palimpsest init                           a warehouse in ./warehouse
      palimpsest import flights.csv flights --create
      palimpsest query "SELECT count(*) FROM flights"
      palimpsest shell                          an interactive prompt

    \b
    Exit codes:
      0    done
      1    the statement failed, or a check found something wrong
      2    wrong use of the command line
      3    no connection to the warehouse
      4    another transaction came first (40001): the same command may now succeed
      5    an erasure is done, but tables that may hold copies were not searched
      130  interrupted
    """
    given = (log_level, log_format, slow_statement)
    if given != (None, None, None) or any(os.environ.get(name) for name in _LOG_VARIABLES):
        # Most commands log nothing, and should not wait for what would.
        from gateway.commands.log_options import read_log_options

        read_log_options(context, *given)


def run() -> None:
    """What the command ``palimpsest`` calls: ``main``, then leave the process at once.

    Collecting garbage among what was just loaded and taking the interpreter apart at the end take
    longer than most statements, so the collector runs rarely, and what is closed and flushed is
    left to the system. Threads that are still at work are waited for.
    """
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
    try:
        main()
    except SystemExit as leaving:
        others = set(threading.enumerate()) - {threading.main_thread()}
        if isinstance(leaving.code, str) or not all(thread.daemon for thread in others):
            raise
        # As the interpreter does before it ends.
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(leaving.code or 0)


if __name__ == "__main__":
    run()
