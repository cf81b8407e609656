"""The DB-API: a table, changes in a transaction, and what the changes left behind.

Run it with ``python examples/dbapi.py [URL]``; without a URL it uses a temporary warehouse.
"""

from __future__ import annotations

import sys

import gateway

url = sys.argv[1] if len(sys.argv) > 1 else "palimpsest://"

with gateway.connect(url, application="example") as con:
    con.execute(
        "CREATE TABLE account (id INTEGER PRIMARY KEY, owner VARCHAR, balance DECIMAL(10, 2))"
    )
    con.executemany(
        "INSERT INTO account VALUES (?, ?, ?)",
        [(1, "Ada", "100.00"), (2, "Bob", "50.00"), (3, "Cyd", "0.00")],
    )
    con.commit()

    # One transaction: both updates are seen, or none.
    con.execute(
        "UPDATE account SET balance = balance - :sum WHERE id = :payer", {"sum": 30, "payer": 1}
    )
    con.execute("UPDATE account SET balance = balance + ? WHERE id = ?", (30, 2))
    con.commit()

    # A key that is there already is refused, and the error says what to do.
    try:
        con.execute("INSERT INTO account VALUES (1, 'Eve', 0)")
    except gateway.IntegrityError as error:
        print(f"{error.sqlstate}: {error.message}")
        con.rollback()

    for row in con.execute("SELECT id, owner, balance FROM account ORDER BY id"):
        print(*row)
