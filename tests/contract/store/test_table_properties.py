"""Names of table properties, on every store: one that is misspelled is not kept in silence."""

from __future__ import annotations

import pytest

import gateway
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]


@pytest.mark.also_on("hive")
def test_a_descriptor_counts_in_any_case_and_under_its_name_alone(store: Store) -> None:
    """A descriptor under ``Erasure`` or ``erasur`` was kept, and found nobody."""
    con = store.connect()
    with pytest.raises(gateway.ProgrammingError) as raised:
        con.execute("CREATE TABLE p (id INTEGER, email VARCHAR) WITH (erasur = 'email')")
    assert (raised.value.code, raised.value.sqlstate) == ("PAL-211", "42P16")
    assert "did you mean erasure?" in str(raised.value.advice)
    con.execute("CREATE TABLE p (id INTEGER, email VARCHAR) WITH (ERASURE = 'email LOWER')")
    assert rows(con, "SHOW TBLPROPERTIES p") == [("erasure", "email AS email LOWER")]
    with pytest.raises(gateway.ProgrammingError, match="would have no effect"):
        con.execute("ALTER TABLE p SET TBLPROPERTIES ('inline_commit' = 'on')")
    con.execute("ALTER TABLE p SET TBLPROPERTIES ('Erasure' = 'id AS customer', 'Team' = 'hr')")
    assert sorted(rows(con, "SHOW TBLPROPERTIES p")) == [
        ("Team", "hr"),
        ("erasure", "id AS customer"),
    ]
