"""What is made of a query for one row by its key, of a table whose rows lie in files."""

from __future__ import annotations

import pytest

from tests.support.kept import rows
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)


@pytest.mark.also_on("hive")
def test_tables_and_views_of_a_key_lookup(store: Store) -> None:
    """The columns are asked for before it is known which files hold the row."""
    con = store.connect()
    con.execute("CREATE TABLE parts (id INTEGER PRIMARY KEY, name VARCHAR)")
    con.execute("INSERT INTO parts VALUES (4, 'd'), (5, 'e'), (6, 'f')")
    con.execute("OPTIMIZE parts")
    con.execute("CREATE TABLE one AS SELECT id, name FROM parts WHERE id = 5")
    con.execute(
        "CREATE TABLE joined AS SELECT p.id, q.name FROM parts p JOIN parts q ON q.id = p.id + 1"
        " WHERE p.id = 5"
    )
    con.execute("CREATE VIEW shown AS SELECT name FROM parts WHERE id = 5")
    con.execute("CREATE MATERIALIZED VIEW kept AS SELECT name FROM parts WHERE id = 5")
    assert rows(con, "SELECT * FROM one") == [(5, "e")]
    assert rows(con, "SELECT * FROM joined") == [(5, "f")]
    assert rows(con, "SELECT * FROM shown") == rows(con, "SELECT * FROM kept") == [("e",)]
