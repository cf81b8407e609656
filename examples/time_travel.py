"""Time travel: read a table as it was, and undo a mistake by writing the past again.

Run it with ``python examples/time_travel.py [URL]``; without a URL it uses a temporary warehouse.
"""

from __future__ import annotations

import sys

import gateway

url = sys.argv[1] if len(sys.argv) > 1 else "palimpsest://"

with gateway.connect(url, autocommit=True) as con:
    con.execute("CREATE TABLE price (item VARCHAR PRIMARY KEY, cents INTEGER)")
    con.execute("INSERT INTO price VALUES ('tea', 250), ('milk', 120)")

    # Every commit is a row in system.transactions; its version names that moment for good.
    (version,) = con.execute("SELECT max(version_number) FROM price_journal").fetchone()
    con.execute("UPDATE price SET cents = cents * 100")
    con.execute("DELETE FROM price WHERE item = 'milk'")

    print("now:   ", con.execute("SELECT * FROM price ORDER BY item").fetchall())
    before = con.execute("SELECT * FROM price FOR SYSTEM_TIME AS OF ? ORDER BY item", (version,))
    print("before:", before.fetchall())

    # A whole block can read the past, so that queries need not be changed for it.
    with con.reading_as_of(version):
        print("again: ", con.execute("SELECT sum(cents) FROM price").fetchone())
