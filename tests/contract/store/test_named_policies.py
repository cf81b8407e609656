"""Row policies with names, as pg_dump writes them, on every kind of store."""

from __future__ import annotations

import pytest

import gateway
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ACCESS_CONTROL)]

DUMP = (
    "SET row_security = off",
    "CREATE TABLE docs (id integer NOT NULL PRIMARY KEY, owner text, n integer)",
    "ALTER TABLE docs OWNER TO boss",
    "INSERT INTO docs VALUES (1, 'ann', 1), (2, 'bob', 2), (3, 'boss', 3)",
    "CREATE POLICY bob_sees ON docs FOR SELECT TO bob USING (true)",
    "ALTER TABLE docs ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY own_rows ON docs USING ((owner = (CURRENT_USER)::text))",
    "CREATE POLICY small ON docs AS RESTRICTIVE FOR INSERT TO ann WITH CHECK ((n < 10))",
    "COMMENT ON POLICY small ON docs IS 'no more than ten'",
    "ALTER TABLE ONLY docs FORCE ROW LEVEL SECURITY",
    "GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE docs TO ann, bob",
)


@pytest.mark.also_on("hive")
def test_a_dump_with_policies_restores(store: Store) -> None:
    con = store.connect(dialect="postgres")
    con.autocommit = True
    for sql in ("CREATE ROLE ann", "CREATE ROLE bob", "CREATE ROLE boss", *DUMP):
        con.execute(sql)
    assert _seen(con, "ann") == [1]
    assert _seen(con, "bob") == [1, 2, 3]
    assert _seen(con, "boss") == [3]

    con.execute("SET ROLE ann")
    con.execute("INSERT INTO docs VALUES (4, 'ann', 4)")
    for refused in (
        "INSERT INTO docs VALUES (5, 'ann', 40)",
        "INSERT INTO docs VALUES (5, 'bob', 4)",
        "UPDATE docs SET owner = 'bob' WHERE id = 4",
        "INSERT INTO docs VALUES (4, 'ann', 4) ON CONFLICT (id) DO UPDATE SET n = 5",
    ):
        with pytest.raises(gateway.Error) as raised:
            con.execute(refused)
        assert raised.value.sqlstate == "42501"
    con.execute("UPDATE docs SET n = 50 WHERE id = 4")

    con.execute("SET ROLE bob")
    assert con.execute("UPDATE docs SET n = n + 1 WHERE id > 0").rowcount == 1
    assert con.execute("DELETE FROM docs WHERE id = 1").rowcount == 0

    con.execute("SET ROLE boss")
    con.execute("ALTER TABLE docs NO FORCE ROW LEVEL SECURITY")
    con.execute("ALTER POLICY bob_sees ON docs TO ann USING (n > 2)")
    con.execute("ALTER POLICY small ON docs RENAME TO few")
    con.execute("DROP POLICY few ON docs")
    con.execute("RESET ROLE")
    assert [_seen(con, role) for role in ("ann", "bob", "boss")] == [
        [1, 2, 3, 4],
        [2],
        [1, 2, 3, 4],
    ]
    with pytest.raises(gateway.Error) as raised:
        con.execute("DROP ROLE ann")
    assert raised.value.sqlstate == "2BP01"
    con.execute("DROP OWNED BY ann")
    con.execute("DROP ROLE ann")
    con.execute("DROP POLICY own_rows ON docs")
    assert _seen(con, "bob") == []
    con.execute("ALTER TABLE docs DISABLE ROW LEVEL SECURITY")
    assert _seen(con, "bob") == [1, 2, 3, 4]
    rows = con.execute("SELECT id, owner, n FROM docs ORDER BY id").fetchall()
    assert rows == [(1, "ann", 1), (2, "bob", 3), (3, "boss", 3), (4, "ann", 50)]


@pytest.mark.also_on("hive")
def test_a_table_has_policies_of_one_kind_and_may_only_be_added_to(store: Store) -> None:
    con = store.connect()
    con.autocommit = True
    for sql in (
        "CREATE ROLE ann",
        "CREATE TABLE log (id INTEGER PRIMARY KEY, n INTEGER)",
        "GRANT SELECT, INSERT ON log TO ann",
        "CREATE POLICY adds ON log FOR INSERT WITH CHECK (n > 0)",
        "ALTER TABLE log ENABLE ROW LEVEL SECURITY",
        "SET ROLE ann",
        "INSERT INTO log VALUES (1, 1)",
    ):
        con.execute(sql)
    for refused in ("INSERT INTO log VALUES (2, 2) RETURNING id", "INSERT INTO log VALUES (3, -3)"):
        with pytest.raises(gateway.ProgrammingError, match="PAL-254"):
            con.execute(refused)
    assert con.execute("SELECT * FROM log").fetchall() == []
    con.execute("RESET ROLE")
    with pytest.raises(gateway.ProgrammingError, match="have names"):
        con.execute("ALTER TABLE log SET ROW POLICY (n > 1)")
    with pytest.raises(gateway.ProgrammingError, match="PAL-649"):
        con.execute("CREATE POLICY adds ON log USING (true)")
    with pytest.raises(gateway.Error, match="used by a policy"):
        con.execute("ALTER TABLE log DROP COLUMN n")
    con.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)")
    con.execute("ALTER TABLE other SET ROW POLICY (id > 1)")
    with pytest.raises(gateway.ProgrammingError, match="without a name"):
        con.execute("CREATE POLICY adds ON other USING (true)")


def _seen(con: gateway.Connection, role: str) -> list[int]:
    con.execute(f"SET ROLE {role}")
    rows = con.execute("SELECT id FROM docs ORDER BY id").fetchall()
    con.execute("RESET ROLE")
    return [number for (number,) in rows]
