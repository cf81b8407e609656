"""Tables that others have made are adopted, changed, and left again as plain tables."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import mapping
from gateway.procedures.adopting import adopt, eject
from journal.model.errors import Code, PalimpsestError
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [
    pytest.mark.needs(Capability.ADOPTION, Capability.OTHER_READERS),
    pytest.mark.timeout(900),
]
NAMES = ("_journal", "version_number", "subsequent_version_number")
ALL = "SELECT k, v FROM {plain} ORDER BY k"


@pytest.fixture
def con(store: Store) -> Connection:
    """A connection to a store in which another tool has made a table of two rows."""
    con = store.connect()
    store.make_plain("plain", "VALUES (1, 'Ann'), (2, 'Bob')")
    return con


@pytest.mark.also_on("hive")
def test_a_table_moves_in_and_out(store: Store, con: Connection) -> None:
    assert adopt(con.session, "plain", ("k",), NAMES, run=False)
    assert con.execute("SHOW TABLES").fetchall() == []
    adopt(con.session, "plain", ("k",), NAMES, run=True)
    before = [(1, "Ann"), (2, "Bob")]
    assert rows(con, "SELECT * FROM plain ORDER BY k") == before
    assert store.read_outside(ALL) == before
    con.execute("UPDATE plain SET v = 'Bea' WHERE k = 2")
    con.execute("INSERT INTO plain VALUES (3, 'Cid'), (4, 'Dee')")
    con.execute("DELETE FROM plain WHERE k = 4")
    with pytest.raises(gateway.IntegrityError) as raised:
        con.execute("INSERT INTO plain VALUES (3, 'again')")
    assert raised.value.sqlstate == "23505"
    present = [(1, "Ann"), (2, "Bea"), (3, "Cid")]
    assert store.read_outside(ALL) == present
    assert con.session.executor.upkeep.verify().is_clean
    con.execute("OPTIMIZE plain")
    assert rows(con, "SELECT * FROM plain ORDER BY k") == present
    assert eject(con.session, "plain", run=False)
    assert rows(con, "SELECT * FROM plain ORDER BY k") == present
    eject(con.session, "plain", run=True)
    assert store.read_outside(ALL) == present
    ((versions,),) = store.read_outside("SELECT count(*) FROM {plain_history}")
    assert versions > 3
    with pytest.raises(gateway.ProgrammingError) as missing:
        con.execute("SELECT * FROM plain")
    assert missing.value.sqlstate == "42P01"


@pytest.mark.also_on("hive")
def test_a_table_of_the_gateway_is_left_to_others(store: Store, con: Connection) -> None:
    con.execute("CREATE TABLE ours (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO ours VALUES (1, 'a'), (2, 'b')")
    con.execute("DELETE FROM ours WHERE k = 2")
    with pytest.raises(gateway.Error, match=r"did you mean \S*ours\?"), mapping():
        eject(con.session, "oursss", run=True)
    eject(con.session, "ours", run=True)
    assert store.read_outside("SELECT * FROM {ours}") == [(1, "a")]


@pytest.mark.also_on("hive")
def test_what_cannot_be_adopted_is_said_and_left_alone(store: Store, con: Connection) -> None:
    for name, key in (("nothing", "k"), ("plain", "nope")):
        with pytest.raises(gateway.Error) as raised, mapping():
            adopt(con.session, name, (key,), NAMES, run=True)
        assert raised.value.advice
    with pytest.raises(gateway.Error, match=r"did you mean plain\?"), mapping():
        adopt(con.session, "plian", ("k",), NAMES, run=False)
    assert con.execute("SHOW TABLES").fetchall() == []
    assert store.read_outside(ALL) == [(1, "Ann"), (2, "Bob")]


@pytest.mark.also_on("hive")
def test_a_table_does_not_leave_while_a_hold_keeps_its_rows(store: Store, con: Connection) -> None:
    adopt(con.session, "plain", ("k",), NAMES, run=True)
    for what in ("ON plain WHERE v = 'Ann'", "FOR SUBJECT v = 'Ann'", "ON plain"):
        ((hold, *_),) = rows(con, f"PLACE HOLD {what} REASON 'matter 7'")
        for run in (False, True):
            with pytest.raises(PalimpsestError, match="matter 7") as raised:
                eject(con.session, "plain", run=run)
            assert raised.value.code is Code.HELD
        assert rows(con, "SELECT count(*) FROM plain") == [(2,)]
        con.execute(f"RELEASE HOLD '{hold}'")
    con.execute("PLACE HOLD FOR SUBJECT v = 'Zoe' REASON 'nobody here'")
    eject(con.session, "plain", run=True)
    assert store.read_outside(ALL) == [(1, "Ann"), (2, "Bob")]
