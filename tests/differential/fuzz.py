"""The seeded differential fuzzer: random programs on the gateway and on the oracle.

    python -m tests.differential.fuzz --seeds 0..2000 --config plain
    python -m tests.differential.fuzz --config restart --summary restart.json --resume

Prints progress and, for each divergence, a minimised program. `--summary` keeps what was found so
far in a file, and `--resume` goes on from there. `--engine postgres` runs the programs on journals
in a PostgreSQL server of its own, `--engine hive` on a Spark Thrift Server, `hive-held` with
small tables read in the gateway; `--engine oracle` compares the oracle with itself, which tests the
fuzzer. `--objects` makes programs over indexes, sequences, enums, foreign keys that act, temporary
tables and prepared statements, with a PostgreSQL server as the oracle. `--config tiers` has
larger tables, whose rows lie in all tiers at once and past the head; `--by-position` reads the
embedded store by position always. `--repeats` makes programs that run the same statements again
with other values, on several connections and with other definitions in between. `--dialect
postgres` has them in that dialect, with a PostgreSQL server as the oracle, and `--wire` through
the gateway's server. `--upkeep` has jobs run in between, those that the store has, and tables lie
in partitions; `--upkeep timestamp` and `--upkeep bigint` have them lie flat, as adopted classic
journals.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from tests.differential.fuzzer import HIVE_LACKS, Finding, Fuzzer
from tests.support.logic.runner import CONFIGURATIONS, TIERS
from tests.support.positions import always_by_position
from tests.support.postgres import running
from tests.support.programs.tables import NO_KINDS
from tests.support.programs.upkeep import ALL_JOBS, LAYOUTS, Upkeep
from tests.support.thrift_server import shared

# Programs that share the restarts, and between two looks at --stop-after.
BATCH_PROGRAMS = 10
_CONFIGURATIONS = {**CONFIGURATIONS, TIERS.name: TIERS}


class Run:
    """A run over a range of seeds, and what it found so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.first, self.last = (int(part) for part in options.seeds.split(".."))
        self.next = self.first
        self.options = options
        self.findings: list[str] = []
        self.tally: dict[str, int] = {"programs": 0, "statements": 0, "failures": 0}
        self.refused: dict[str, int] = {}
        self.seconds = 0.0
        if options.resume and options.summary and Path(options.summary).exists():
            self._restore(json.loads(Path(options.summary).read_text()))

    def _restore(self, saved: dict[str, object]) -> None:
        for name in ("next", "findings", "tally", "refused", "seconds"):
            setattr(self, name, saved[name])

    def go(
        self, folder: Path, new_url: Callable[[], str] | None = None, postgres: str = ""
    ) -> None:
        """Run what is left, or until enough was found."""
        options = self.options
        pattern = re.compile(options.skip) if options.skip else None
        fuzzer = Fuzzer(
            folder,
            _CONFIGURATIONS[options.config],
            self_test=options.engine == "oracle",
            skip=pattern,
            length=options.length,
            minimise=not options.no_minimise,
            new_url=new_url,
            lacks=HIVE_LACKS if options.engine.startswith("hive") else NO_KINDS,
            upkeep=_upkeep(options),
            postgres=postgres,
            repeats=options.repeats,
            wire=options.wire,
        )
        while self.next < self.last and len(self.findings) < options.stop_after:
            started = time.monotonic()
            until = min(self.last, self.next + BATCH_PROGRAMS)
            found = fuzzer.run(range(self.next, until))
            self.next = until
            self._record(fuzzer, found, time.monotonic() - started)
        fuzzer.close()
        self._tell()

    def _record(self, fuzzer: Fuzzer, found: list[Finding], seconds: float) -> None:
        self.seconds += seconds
        tally = fuzzer.take_tally()
        for name, count in asdict(tally).items():
            if name != "refused":
                self.tally[name] += count
        for message, count in tally.refused.items():
            self.refused[message] = self.refused.get(message, 0) + count
        for finding in found:
            self.findings.append(str(finding))
            sys.stdout.write(f"{finding}\n")
        if found or (self.next - self.first) % 100 == 0:
            self._tell()
        if self.options.summary:
            Path(self.options.summary).write_text(json.dumps(self.summary(), indent=2) + "\n")

    def summary(self) -> dict[str, object]:
        """Everything a later run, or a reader, needs."""
        return {
            "seeds": self.options.seeds,
            "config": self.options.config,
            "length": self.options.length,
            "next": self.next,
            "tally": self.tally,
            "divergences": len(self.findings),
            "seconds": round(self.seconds, 1),
            "refused": self.refused,
            "findings": self.findings,
        }

    def _tell(self) -> None:
        tally = self.tally
        sys.stdout.write(
            f"{tally['programs']} programs, {tally['statements']} statements"
            f" ({tally['failures']} failing as they should),"
            f" {len(self.findings)} divergences, {self.seconds:.0f} s\n"
        )
        sys.stdout.flush()


@contextmanager
def _postgres(_: Path) -> Iterator[Callable[[], str]]:
    with running() as cluster:
        yield lambda: cluster.url(cluster.database())


@contextmanager
def _hive(folder: Path) -> Iterator[Callable[[], str]]:
    with shared(folder) as server:
        yield lambda: server.new_store(folder)


@contextmanager
def _held(folder: Path) -> Iterator[Callable[[], str]]:
    with shared(folder) as server:
        yield lambda: server.new_store(folder, held_rows="100000")


def _upkeep(options: argparse.Namespace) -> Upkeep | None:
    """The upkeep of the engine that is asked for."""
    if options.upkeep is None:
        return None
    if options.engine == "postgres":
        return Upkeep(("major", "auto"), ALL_JOBS, options.upkeep)
    if options.upkeep != "tiered":
        sys.exit("only --engine postgres has flat journals")
    return Upkeep() if options.engine.startswith("hive") else Upkeep(jobs=ALL_JOBS)


SERVERS = {"postgres": _postgres, "hive": _hive, "hive-held": _held}


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.fuzz")
    parser.add_argument("--seeds", default="0..2000", help="first..last, the last excluded")
    parser.add_argument("--config", choices=sorted(_CONFIGURATIONS), default="plain")
    parser.add_argument("--engine", choices=("gateway", "oracle", *SERVERS), default="gateway")
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--stop-after", type=int, default=10, help="findings")
    parser.add_argument("--skip", default="", help="leave out statements that match")
    parser.add_argument("--upkeep", nargs="?", const="tiered", choices=LAYOUTS, help="run jobs")
    parser.add_argument("--objects", action="store_true", help="indexes, sequences, enums ..")
    parser.add_argument("--repeats", action="store_true", help="statements again, of other values")
    parser.add_argument("--dialect", choices=("duckdb", "postgres"), default="duckdb")
    parser.add_argument("--wire", action="store_true", help="through the PostgreSQL server")
    parser.add_argument("--by-position", action="store_true", help="read by position always")
    parser.add_argument("--no-minimise", action="store_true")
    parser.add_argument("--summary", default="", help="a JSON file to keep the state of the run in")
    parser.add_argument("--resume", action="store_true", help="go on where the summary ends")
    run = Run(parser.parse_args())
    if run.options.objects and run.options.engine == "oracle":
        parser.error("--objects compares with PostgreSQL, which is not compared with itself")
    with ExitStack() as held:
        if run.options.by_position:
            held.enter_context(always_by_position())
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        server = SERVERS.get(run.options.engine)
        new_url = None if server is None else held.enter_context(server(folder))
        postgres = ""
        if run.options.objects or run.options.dialect == "postgres":
            cluster = held.enter_context(running())
            postgres = cluster.conninfo(cluster.database())
        run.go(folder, new_url, postgres)
    for message, count in sorted(run.refused.items(), key=lambda item: -item[1]):
        sys.stdout.write(f"refused {count:6d}  {message}\n")
    return 1 if run.findings else 0


if __name__ == "__main__":
    sys.exit(main())
