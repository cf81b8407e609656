"""What ``system.transactions`` says of a commit, on every store."""

from __future__ import annotations

import pytest

from tests.support.kept import rows
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(900)


@pytest.mark.also_on("hive")
@pytest.mark.drifts(toy="its lists are texts")
def test_commits_name_the_tables_that_they_define(store: Store) -> None:
    """Nothing told which table a commit had dropped, and so not who had."""
    con = store.connect()
    con.execute("CREATE SCHEMA hr")
    con.execute("CREATE TABLE hr.t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO hr.t VALUES (1)")
    con.execute("CREATE VIEW hr.v AS SELECT a FROM hr.t")
    con.execute("ALTER TABLE hr.t ADD COLUMN b INTEGER")
    con.execute("DROP VIEW hr.v")
    con.execute("ALTER TABLE hr.t RENAME TO u")
    con.execute("DROP TABLE hr.u")
    told = [
        sorted(t) for (t,) in rows(con, "SELECT tables FROM system.transactions ORDER BY version")
    ]
    assert told[-7:] == [
        ["hr.t"],
        ["hr.t"],
        ["hr.v"],
        ["hr.t"],
        ["hr.v"],
        ["hr.t", "hr.u"],
        ["hr.u"],
    ]
