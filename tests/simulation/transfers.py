"""The transfer workload: threads move money between accounts; the sum must never change.

    python -m tests.simulation.transfers --threads 8 --transfers 500

A transfer reads both balances, writes both, and is retried on 40001. A reader sums all accounts
all the time and counts every sum that is wrong. No balance may end other than its transfers say.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import gateway
from gateway.dbapi.connection import Connection
from tests.support.upkeep import disturb

OPENING_BALANCE = 1000
MAX_ATTEMPTS = 1000
BACKOFF_S = 0.01
FLUSH_EVERY_S = 0.5


@dataclass(slots=True)
class Result:
    """What the threads report."""

    moved: Counter[int] = field(default_factory=Counter)
    transfers: int = 0
    conflicts: int = 0
    sums_read: int = 0
    wrong_sums: list[int] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def run_transfers(
    url: str, *, threads: int, transfers: int, accounts: int, seed: int
) -> tuple[Result, dict[int, int]]:
    """Run the workload; return the report and the final balances."""
    result = Result()
    with gateway.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE SCHEMA IF NOT EXISTS bank")
        cursor.execute(
            "CREATE TABLE bank.accounts (k INTEGER PRIMARY KEY, balance BIGINT NOT NULL)"
        )
        rows = [(key, OPENING_BALANCE) for key in range(accounts)]
        cursor.executemany("INSERT INTO bank.accounts VALUES (?, ?)", rows)
        stop = threading.Event()
        watcher = threading.Thread(target=_watch, args=(url, result, accounts, stop))
        workers = [
            threading.Thread(
                target=_work,
                args=(url, result, random.Random(seed + number), transfers, accounts),
            )
            for number in range(threads)
        ]
        for thread in (*workers, watcher):
            thread.start()
        for thread in workers:
            thread.join()
        stop.set()
        watcher.join()
        cursor.execute("SELECT k, balance FROM bank.accounts")
        return result, dict(cursor.fetchall())


def wrong_balances(result: Result, balances: dict[int, int]) -> dict[int, int]:
    """Return the accounts whose balance is not what the acknowledged transfers left."""
    return {
        key: balance
        for key, balance in balances.items()
        if balance != OPENING_BALANCE + result.moved[key]
    }


def _work(url: str, result: Result, rng: random.Random, transfers: int, accounts: int) -> None:
    with gateway.connect(url, autocommit=True) as connection:
        for _ in range(transfers):
            payer, payee = rng.sample(range(accounts), 2)
            amount = rng.randint(1, 20)
            for _attempt in range(MAX_ATTEMPTS):
                error = _transfer(connection, payer, payee, amount)
                if error is None:
                    break
                with result.lock:
                    result.conflicts += 1
                    if error != "40001":
                        result.unexpected.append(error)
                time.sleep(rng.uniform(0, BACKOFF_S))
            else:
                with result.lock:
                    result.unexpected.append("gave up")
                return
            with result.lock:
                result.transfers += 1
                result.moved[payer] -= amount
                result.moved[payee] += amount


def _transfer(connection: Connection, payer: int, payee: int, amount: int) -> str | None:
    cursor = connection.cursor()
    try:
        cursor.execute("BEGIN")
        for key, change in ((payer, -amount), (payee, amount)):
            cursor.execute("SELECT balance FROM bank.accounts WHERE k = ?", [key])
            balance = cursor.fetchall()[0][0]
            cursor.execute(
                "UPDATE bank.accounts SET balance = ? WHERE k = ?", [balance + change, key]
            )
        cursor.execute("COMMIT")
    except gateway.Error as error:
        connection.rollback()
        return error.sqlstate if error.sqlstate == "40001" else f"{error.sqlstate}: {error}"
    return None


def _watch(url: str, result: Result, accounts: int, stop: threading.Event) -> None:
    with gateway.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        flushed = 0.0
        while not stop.wait(BACKOFF_S):
            try:
                cursor.execute("SELECT sum(balance), count(*) FROM bank.accounts")
                total, count = cursor.fetchall()[0]
                if time.monotonic() > flushed + FLUSH_EVERY_S:
                    cursor.execute(disturb(url, "bank.accounts"))
                    flushed = time.monotonic()
            except gateway.Error as error:
                result.unexpected.append(f"{error.sqlstate}: {error}")
                return
            result.sums_read += 1
            if (total, count) != (accounts * OPENING_BALANCE, accounts):
                result.wrong_sums.append(total)


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.transfers")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--transfers", type=int, default=500, help="per thread")
    parser.add_argument("--accounts", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result, balances = run_transfers(
            f"palimpsest:///{Path(folder) / 'warehouse'}",
            threads=options.threads,
            transfers=options.transfers,
            accounts=options.accounts,
            seed=options.seed,
        )
    wrong = wrong_balances(result, balances)
    sys.stdout.write(
        f"{result.transfers} transfers, {result.conflicts} conflicts, {result.sums_read} sums read,"
        f" {len(result.wrong_sums)} wrong, {len(wrong)} wrong balances,"
        f" final sum {sum(balances.values())}, {time.monotonic() - started:.0f} s\n"
    )
    for line in result.unexpected[:10]:
        sys.stdout.write(f"{line}\n")
    return 1 if wrong or result.wrong_sums or result.unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
