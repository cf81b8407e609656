"""The bank of the transfer tests: its tables, and what must hold of them all the while and after.

``tests.support.transfer_child`` moves the money; nothing here does.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from gateway.dbapi.connection import Connection

ACCOUNTS = 12
OPENING_BALANCE = 1000


def open_bank(con: Connection) -> None:
    """Make accounts and ledger."""
    con.execute("CREATE SCHEMA bank")
    con.execute("CREATE TABLE bank.accounts (k INTEGER PRIMARY KEY, balance BIGINT NOT NULL)")
    con.execute(
        "CREATE TABLE bank.ledger (id VARCHAR PRIMARY KEY, payer INTEGER, payee INTEGER,"
        " amount BIGINT)"
    )
    rows = [(k, OPENING_BALANCE) for k in range(ACCOUNTS)]
    con.executemany("INSERT INTO bank.accounts VALUES (?, ?)", rows)


def check_sum(con: Connection) -> None:
    """No money appears or goes, and no account."""
    found = con.execute("SELECT sum(balance), count(*) FROM bank.accounts").fetchall()
    assert found == [(ACCOUNTS * OPENING_BALANCE, ACCOUNTS)]


def check_books(con: Connection, log: Path) -> int:
    """The books agree with the ledger, which has whatever was acknowledged; its transfers."""
    ledger = con.execute("SELECT id, payer, payee, amount FROM bank.ledger").fetchall()
    expected = Counter(dict.fromkeys(range(ACCOUNTS), OPENING_BALANCE))
    for _, payer, payee, amount in ledger:
        expected[payer] -= amount
        expected[payee] += amount
    assert dict(con.execute("SELECT k, balance FROM bank.accounts").fetchall()) == dict(expected)
    assert set(log.read_text().split()) <= {row[0] for row in ledger}
    assert con.session.executor.upkeep.verify().is_clean
    return len(ledger)
