"""A gateway process of the transfer test: threads move money until they are done or killed.

    python -m tests.support.transfer_child URL NAME THREADS TRANSFERS LOG

Each transfer reads two balances, writes both and a row of ``bank.ledger``; when its COMMIT is
acknowledged its id goes to the log. What fails is tried again, unless the ledger has it already.
"""

import os
import random
import sys
import threading
import time
from pathlib import Path

import gateway
from gateway.dbapi.connection import Connection
from tests.support.bank import ACCOUNTS

AGAIN = ("40001", "08006", "08001", "08007", "23505")
GIVE_UP_S = 300.0


def transfer(connection: Connection, number: str, rng: random.Random) -> None:
    """Move some money in one transaction; raises what the gateway raises."""
    payer, payee = rng.sample(range(ACCOUNTS), 2)
    amount = rng.randrange(1, 20)
    connection.execute("BEGIN")
    for key, change in ((payer, -amount), (payee, amount)):
        read = connection.execute("SELECT balance FROM bank.accounts WHERE k = ?", [key])
        ((balance,),) = read.fetchall()
        connection.execute(
            "UPDATE bank.accounts SET balance = ? WHERE k = ?", [balance + change, key]
        )
    connection.execute(
        "INSERT INTO bank.ledger VALUES (?, ?, ?, ?)", [number, payer, payee, amount]
    )
    connection.execute("COMMIT")


def is_there(connection: Connection, number: str) -> bool:
    """Say whether the ledger has a transfer."""
    found = connection.execute("SELECT count(*) FROM bank.ledger WHERE id = ?", [number])
    return found.fetchall() == [(1,)]


def work(url: str, name: str, transfers: int, log: int) -> None:
    """Make transfers, one after another."""
    rng = random.Random(name)
    with _connected(url, rng) as connection:
        for count in range(transfers):
            _persist(connection, f"{name}-{count}", rng)
            os.write(log, f"{name}-{count}\n".encode())


def _connected(url: str, rng: random.Random) -> Connection:
    """Connect, and again while the server is gone."""
    deadline = time.monotonic() + GIVE_UP_S
    while True:
        try:
            return gateway.connect(url, autocommit=True)
        except gateway.Error as error:
            if error.sqlstate not in AGAIN or time.monotonic() > deadline:
                raise
            time.sleep(rng.uniform(0, 0.1))


def _persist(connection: Connection, number: str, rng: random.Random) -> None:
    deadline = time.monotonic() + GIVE_UP_S
    while True:
        try:
            if connection.in_transaction:
                connection.rollback()
            if not is_there(connection, number):
                transfer(connection, number, rng)
            return
        except gateway.Error as error:
            if error.sqlstate not in AGAIN or time.monotonic() > deadline:
                raise
            time.sleep(rng.uniform(0, 0.02))


def main() -> None:
    """Run the threads of this process."""
    url, name, threads, transfers, path = sys.argv[1:]
    log = os.open(Path(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    workers = [
        threading.Thread(target=work, args=(url, f"{name}.{i}", int(transfers), log))
        for i in range(int(threads))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
