"""Runs logic files by hand, or fills in what the oracle gives: never used by the tests.

python -m tests.support.logic FILE...                 run on the oracle
python -m tests.support.logic --gateway FILE...       run on the gateway, plain
python -m tests.support.logic --complete FILE...      write the oracle's answers into the files
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.support.engine import Engine
from tests.support.logic.records import Command, Record, parse_file
from tests.support.logic.runner import CONFIGURATIONS, complete, run_records
from tests.support.oracle import Oracle


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.logic")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--gateway", action="store_true")
    parser.add_argument("--config", choices=sorted(CONFIGURATIONS), default="plain")
    options = parser.parse_args()
    failed = 0
    for path in options.files:
        if options.complete:
            complete_file(path)
            continue
        mismatches = _run(path, gateway=options.gateway, config=options.config)
        failed += bool(mismatches)
        for mismatch in mismatches:
            sys.stdout.write(f"{path}: {mismatch}\n\n")
    sys.stdout.write(f"{len(options.files)} files, {failed} with mismatches\n")
    return 1 if failed else 0


def complete_file(path: Path) -> None:
    """Rewrite a logic file with the oracle's answers; skipped records stay as they are."""
    lines = path.read_text(encoding="utf-8").split("\n")
    oracle = Oracle()
    connection = "default"
    written: list[str] = []
    position = 0
    for record in parse_file(path):
        written += lines[position : record.line - 1]
        position = record.end_line
        source = lines[record.line - 1 : record.end_line]
        if not record.applies(frozenset({oracle.name})):
            written += source
            continue
        if isinstance(record.action, Command):
            connection = _obey(record.action, oracle, connection)
            written += source
            continue
        outcome = oracle.session(connection).run(record.action.sql)
        written += complete(record, outcome)
    written += lines[position:]
    path.write_text("\n".join(written), encoding="utf-8")


def _obey(command: Command, oracle: Oracle, connection: str) -> str:
    if command.verb == "restart":
        oracle.restart()
    return command.argument if command.verb == "connection" else connection


def _run(path: Path, *, gateway: bool, config: str) -> list[object]:
    records: list[Record] = parse_file(path)
    with tempfile.TemporaryDirectory() as folder:
        engine: Engine = Oracle()
        if gateway:
            from tests.support.gateway_engine import GatewayEngine

            engine = GatewayEngine(Path(folder) / "warehouse")
        try:
            return list(run_records(records, engine, CONFIGURATIONS[config]))
        finally:
            engine.close()


if __name__ == "__main__":
    sys.exit(main())
