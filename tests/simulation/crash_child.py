"""The child of the crash test: writes, flushes and compacts until it is killed.

    python -m tests.simulation.crash_child URL LOG FIRST_ID SEED

Before each transaction it logs `start <id>`, after the commit is acknowledged `done <id>`, for one
rolled back on purpose `undone <id>`; every line is on disk before it goes on. A transaction <id>
leaves ROWS_PER_TRANSACTION rows in `crash.ledger`, one in `crash.totals`, and moves an amount
between two rows of `crash.accounts`, so half of one can be told from a whole one.
"""

import os
import random
import sys
from pathlib import Path
from typing import BinaryIO

import gateway
from gateway.dbapi.connection import Connection
from gateway.dbapi.cursor import Cursor
from journal.stores.embedded.journal import Journal
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs.compaction import CompactJob
from spark_compaction.runner import RunOptions, run_job

ACCOUNTS = 5
ROWS_PER_TRANSACTION = 3
OPENING_BALANCE = 1000
LOG_READY = "ready 0"


def rolled_back_on_purpose(number: int) -> bool:
    """Say whether the transaction of that number is undone instead of committed."""
    return number % 7 == 3


def create_tables(cursor: Cursor) -> None:
    """Create the tables of the load, all in one transaction."""
    cursor.execute("BEGIN")
    cursor.execute("CREATE SCHEMA IF NOT EXISTS crash")
    cursor.execute(
        "CREATE TABLE IF NOT EXISTS crash.ledger (id INTEGER, line INTEGER, note VARCHAR,"
        " PRIMARY KEY (id, line))"
    )
    cursor.execute("CREATE TABLE IF NOT EXISTS crash.totals (id INTEGER PRIMARY KEY, n INTEGER)")
    cursor.execute(
        "CREATE TABLE IF NOT EXISTS crash.accounts (k INTEGER PRIMARY KEY, balance BIGINT)"
    )
    cursor.execute("SELECT count(*) FROM crash.accounts")
    if cursor.fetchall() == [(0,)]:
        for key in range(ACCOUNTS):
            cursor.execute("INSERT INTO crash.accounts VALUES (?, ?)", [key, OPENING_BALANCE])
    cursor.execute("COMMIT")


def one_transaction(cursor: Cursor, number: int, rng: random.Random) -> None:
    """Write everything the transaction of that number writes, without ending it."""
    cursor.execute("BEGIN")
    for line in range(ROWS_PER_TRANSACTION):
        cursor.execute("INSERT INTO crash.ledger VALUES (?, ?, ?)", [number, line, "x" * 40])
    payer, payee = rng.sample(range(ACCOUNTS), 2)
    move = "UPDATE crash.accounts SET balance = balance + ? WHERE k = ?"
    cursor.execute(move, [-number % 13, payer])
    cursor.execute(move, [-(-number % 13), payee])
    cursor.execute("INSERT INTO crash.totals VALUES (?, 0)", [number])
    cursor.execute("UPDATE crash.totals SET n = ? WHERE id = ?", [ROWS_PER_TRANSACTION, number])


def compact(connection: Connection, rng: random.Random) -> None:
    """Compact a table; what is retired goes at once."""
    journal = connection.session.journal
    if not isinstance(journal, Journal):
        _compact_in_database(connection, rng)
        return
    job = CompactJob(rng.choice(("minor", "major")), rows_max=500, small_files_min=2)
    table_id = rng.choice(sorted(journal.state.tables))
    run_job(journal, job, table_id, LocalEngine(), options=RunOptions(grace_us=0))


def _compact_in_database(connection: Connection, rng: random.Random) -> None:
    table = rng.choice(("ledger", "totals", "accounts"))
    try:
        connection.execute("CALL system.compact(?)", [f"crash.{table}"])
    except gateway.Error as error:
        # The server may not know yet that the child before, which was at it, is dead.
        if error.code != "PAL-703":
            raise


def run(url: str, log: BinaryIO, first: int, seed: int) -> None:
    """Write transactions and flush heads for ever."""
    rng = random.Random(seed)
    with gateway.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        create_tables(cursor)
        _note(log, LOG_READY)
        number = first
        while True:
            _note(log, f"start {number}")
            one_transaction(cursor, number, rng)
            undo = rolled_back_on_purpose(number)
            cursor.execute("ROLLBACK" if undo else "COMMIT")
            _note(log, f"{'undone' if undo else 'done'} {number}")
            if rng.random() < 0.2:
                table = rng.choice(("ledger", "totals", "accounts"))
                cursor.execute("CALL system.flush(?)", [f"crash.{table}"])
            if rng.random() < 0.05:
                compact(connection, rng)
            number += 1


def _note(log: BinaryIO, line: str) -> None:
    log.write(f"{line}\n".encode())
    log.flush()
    os.fsync(log.fileno())


if __name__ == "__main__":
    with Path(sys.argv[2]).open("ab") as opened:
        run(sys.argv[1], opened, int(sys.argv[3]), int(sys.argv[4]))
