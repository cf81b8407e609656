"""The fuzzer of parser and rules: changed statements, of which only coded errors may come.

    python -m tests.rewriter.fuzz --store embedded --seeds 0..100000
    python -m tests.rewriter.fuzz --store postgresql --seeds 0..100000 --corpus FOLDER

Prints each kind of finding with the first text that shows it, and how often each outcome came. A
process of its own works for each ``--workers``: one that says nothing for long, or ends, is a
finding too, with the text it was at.
"""

import argparse
import faulthandler
import logging
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.rewriter.fuzz.corpus import all_sources
from tests.rewriter.fuzz.mutations import mutant
from tests.rewriter.fuzz.verdict import Verdict, judge
from tests.rewriter.golden.plans import STORES

SECONDS_HUNG = 60
BATCH_SEEDS = 250
_SHOWN_CHARACTERS = 1500


def work(connection: Connection, store: str, corpus: Path | None) -> None:
    """Judge the texts of the ranges of seeds that come in; send what became of each."""
    # The generator of SQL says there what a changed tree has that it cannot write.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    sources = all_sources(corpus)
    while True:
        seeds = connection.recv()
        if seeds is None:
            return
        for seed in seeds:
            connection.send(("at", seed, None))
            # It stops a parser that never comes back, which no signal of Python's would reach.
            faulthandler.dump_traceback_later(SECONDS_HUNG, exit=True)
            connection.send(("done", seed, judge(mutant(seed, sources), store)))
            faulthandler.cancel_dump_traceback_later()
        connection.send(("idle", -1, None))


class Run:
    """A run over a range of seeds, and what it found."""

    def __init__(self, options: argparse.Namespace) -> None:
        first, last = (int(part) for part in options.seeds.split(".."))
        self.options = options
        self.seeds = range(first, last)
        self.outcomes: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self._batches = self._batched()
        self._at: dict[Connection, tuple[BaseProcess, list[int]]] = {}
        self._sources = all_sources(options.corpus)

    def go(self) -> int:
        """Judge every text; return how many findings there are."""
        for _ in range(self.options.workers):
            self._start(next(self._batches, []))
        while self._at:
            for connection in wait(list(self._at), timeout=SECONDS_HUNG * 2):
                assert isinstance(connection, Connection)
                self._hear(connection)
        return self.findings.total()

    def _batched(self) -> Iterator[list[int]]:
        for start in range(self.seeds.start, self.seeds.stop, BATCH_SEEDS):
            yield list(range(start, min(start + BATCH_SEEDS, self.seeds.stop)))

    def _start(self, seeds: list[int]) -> None:
        if not seeds:
            return
        ours, theirs = multiprocessing.Pipe()
        arguments = (theirs, self.options.store, self.options.corpus)
        worker = multiprocessing.Process(target=work, args=arguments, daemon=True)
        worker.start()
        theirs.close()
        ours.send(seeds)
        self._at[ours] = (worker, seeds)

    def _hear(self, connection: Connection) -> None:
        worker, seeds = self._at[connection]
        try:
            what, seed, verdict = connection.recv()
        except EOFError:
            worker.join()
            del self._at[connection]
            self._count(seeds[0], Verdict("ended", f"the process ended: {worker.exitcode}"))
            self._start(seeds[1:] or next(self._batches, []))
            return
        if what == "at":
            del seeds[: seeds.index(seed)]
        elif what == "done":
            self._count(seed, verdict)
        else:
            later = next(self._batches, None)
            connection.send(later)
            if later is None:
                del self._at[connection]
                worker.join()
            else:
                self._at[connection] = (worker, later)

    def _count(self, seed: int, verdict: Verdict) -> None:
        self.outcomes[verdict.outcome] += 1
        if verdict.finding:
            self.findings[verdict.finding] += 1
            if self.findings[verdict.finding] == 1:
                self._show(seed, verdict)

    def _show(self, seed: int, verdict: Verdict) -> None:
        text = mutant(seed, self._sources)
        sys.stdout.write(
            f"--- {verdict.finding}\nseed {seed}, {text.dialect}, tables of {text.source.name}\n"
            f"{text.text[:_SHOWN_CHARACTERS]}\n{verdict.detail[-_SHOWN_CHARACTERS:]}\n"
        )
        sys.stdout.flush()


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.rewriter.fuzz")
    parser.add_argument("--store", choices=sorted(STORES), default="embedded")
    parser.add_argument("--seeds", default="0..100000", help="first..last, the last excluded")
    parser.add_argument("--corpus", type=Path, help="a folder of further .sql and .py files")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", type=int, help="show what becomes of the text of one seed")
    options = parser.parse_args()
    if options.one is not None:
        text = mutant(options.one, all_sources(options.corpus))
        sys.stdout.write(f"{text.dialect}, {text.source.name}\n{text.text}\n")
        sys.stdout.write(f"{judge(text, options.store)}\n")
        return 0
    run = Run(options)
    found = run.go()
    for outcome, count in run.outcomes.most_common():
        sys.stdout.write(f"{count:8d}  {outcome}\n")
    for finding, count in run.findings.most_common():
        sys.stdout.write(f"{count:8d}  {finding}\n")
    sys.stdout.write(f"{run.outcomes.total()} texts, {found} findings\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
