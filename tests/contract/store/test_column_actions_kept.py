"""What an erasure changes where rows stay, in what a table has besides: late copies, reject files,
held rows, and rows that only a backup has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.privacy_desk import erasing_steps
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]
ADA, BOB, CALL = "ada@x.example", "bob@x.example", "+49 30 1234567"
_FIND = erasing_steps.find


@pytest.fixture
def con(store: Store) -> Connection:
    """Two people, whose addresses get another form, and telephones none."""
    found = store.connect()
    found.execute(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, phone VARCHAR, dept INTEGER)"
        " WITH (erasure = 'email LOWER')"
    )
    found.execute(f"INSERT INTO people VALUES (1, '{ADA}', '{CALL}', 1), (2, '{BOB}', '1', 2)")
    found.execute("UPDATE people SET dept = 3 WHERE id = 1")
    place = f"actions.{store.home}.people"
    _privacy(store, "policy", "--set", f"{place}.email=hmac", "--set", f"{place}.phone=null")
    return found


def _privacy(store: Store, *words: str, codes: Sequence[int] = (0,)) -> Any:
    env = {"PALIMPSEST_WAREHOUSE": store.url}
    run = CliRunner().invoke(main, ["privacy", *words, "--json"], env=env)
    assert run.exit_code in codes, run.output + run.stderr
    return json.loads(run.stdout)


def _submit(store: Store, mail: str = ADA) -> None:
    _privacy(store, "submit", "--action", "erasure", "--subject", f"email={mail}")


def _step(store: Store) -> str:
    """Where the only batch is after a run."""
    (batch,) = _privacy(store, "run", codes=(0, 1, 5))
    return str(batch["step"])


def _holders(store: Store, root: Path) -> list[str]:
    """What still has a value of Ada's: of the store, and of a folder."""
    files = [p for p in root.rglob("*") if p.is_file()]
    places = [str(p) for v in (ADA, CALL) for p in files if v.encode() in p.read_bytes()]
    return [place for v in (ADA, CALL) for place in store.holders(v)] + places


def _ada(con: Connection) -> list[tuple[Any, ...]]:
    return rows(con, "SELECT * FROM people FOR SYSTEM_TIME ALL WHERE id = 1")


def _copy_to(con: Connection, root: Path) -> Path:
    """Copy the table elsewhere, as backup ``far``; the folder of the copy."""
    vault = root / "vault"
    con.execute(f"CALL system.backup('people', name => 'far', to => '{vault}')")
    return vault


def _erase_while_away(store: Store, vault: Path) -> None:
    """Erase Ada while nobody reaches the copy, and again when it is back."""
    away = vault.with_name("away")
    vault.rename(away)
    _submit(store)
    assert _step(store) == "AWAITING_BACKUP_EXPIRY"
    away.rename(vault)
    assert _step(store) == "COMPLETED"


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_a_copy_that_was_out_of_reach_loses_the_values_later(
    store: Store, con: Connection, tmp_path: Path
) -> None:
    vault = _copy_to(con, tmp_path)
    _erase_while_away(store, vault)
    assert _holders(store, tmp_path) == []
    con.execute("CALL system.restore('people', backup => 'far')")
    assert {row[2] for row in _ada(con)} == {None}
    assert {str(row[1]).partition(":")[0] for row in _ada(con)} == {"hmac"}


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_who_is_in_a_late_copy_alone_is_changed_there(
    store: Store, con: Connection, tmp_path: Path
) -> None:
    vault = _copy_to(con, tmp_path)
    con.execute("TRUNCATE TABLE people")
    _erase_while_away(store, vault)
    assert _holders(store, tmp_path) == []


@pytest.mark.also_on("hive", "postgres")
def test_held_rows_keep_their_values_until_the_release(
    store: Store, con: Connection, tmp_path: Path
) -> None:
    con.execute("PLACE HOLD ON people WHERE id = 1 REASON 'matter 7'")
    _submit(store)
    assert _step(store) == "ON_HOLD"
    assert {(row[1], row[2]) for row in _ada(con)} == {(ADA, CALL)}
    con.execute("UPDATE people SET phone = '+49 30 7' WHERE id = 1")
    ((hold,),) = rows(con, "SELECT id FROM system.holds")
    con.execute(f"RELEASE HOLD '{hold}'")
    assert _step(store) == "COMPLETED"
    assert {row[2] for row in _ada(con)} == {None}
    assert _holders(store, tmp_path) == []
    con.execute("UPDATE people SET dept = 8 WHERE id = 1")


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_a_hold_placed_between_the_steps_keeps_the_values(
    store: Store, con: Connection, tmp_path: Path
) -> None:
    con.execute("CALL system.backup('people', name => 'near')")
    _submit(store, ADA)
    _submit(store, BOB)
    con.execute("PLACE HOLD ON people WHERE id = 2 REASON 'matter 8'")
    assert _step(store) == "ON_HOLD"
    assert rows(con, "SELECT email, phone FROM people WHERE id = 2") == [(BOB, "1")]
    con.execute("CALL system.restore('people', backup => 'near')")
    assert rows(con, "SELECT email FROM people WHERE id = 2") == [(BOB,)]
    ((hold,),) = rows(con, "SELECT id FROM system.holds")
    con.execute(f"RELEASE HOLD '{hold}'")
    assert _step(store) == "COMPLETED"
    assert _holders(store, tmp_path) == []
    assert store.holders(BOB) == []


@pytest.mark.also_on("hive", "postgres")
def test_reject_files_lose_rows_that_name_the_person(
    store: Store, con: Connection, tmp_path: Path
) -> None:
    lines = tmp_path / "people.csv"
    lines.write_text(f"id,email,phone,dept\nx,{ADA.upper()},{CALL},2\ny,{BOB},1,3\n")
    options = f"HEADER, ON_ERROR ignore, REJECTS '{tmp_path / 'wrong.csv'}'"
    con.execute(f"COPY people FROM '{lines}' ({options})")
    lines.unlink()
    _submit(store)
    assert _step(store) == "COMPLETED"
    assert _holders(store, tmp_path) == []
    left = (tmp_path / "wrong.csv").read_text()
    assert (ADA.upper() in left, BOB in left) == (False, True)


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_a_copy_that_is_gone_at_the_purge_is_waited_for(
    store: Store, con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, away = _copy_to(con, tmp_path), tmp_path / "away"

    def find(*given: Any) -> Any:
        try:
            return _FIND(*given)
        finally:
            vault.rename(away)

    _submit(store)
    with monkeypatch.context() as patch:
        patch.setattr(erasing_steps, "find", find)
        assert _step(store) == "AWAITING_BACKUP_EXPIRY"
    assert _ada(con) == []
    away.rename(vault)
    assert _step(store) == "COMPLETED"
    assert len(_ada(con)) == 2
    assert _holders(store, tmp_path) == []


@pytest.mark.long
@pytest.mark.needs(Capability.BACKUPS)
@pytest.mark.also_on("hive", "postgres")
def test_archived_rows_and_dropped_columns_lose_their_values(
    store: Store, con: Connection, tmp_path: Path
) -> None:
    con.execute("ALTER TABLE people ADD COLUMN day DATE")
    con.execute("UPDATE people SET day = DATE '2020-01-01' WHERE id = 1")
    con.execute("ALTER TABLE people ADD COLUMN other VARCHAR")
    con.execute("ALTER TABLE people SET TBLPROPERTIES"
                " ('erasure' = 'email LOWER, other AS email LOWER')")  # fmt: skip
    con.execute(f"UPDATE people SET other = '{ADA.upper()}' WHERE id = 1")
    con.execute("ALTER TABLE people SET TBLPROPERTIES ('erasure' = 'email LOWER')")
    con.execute("ALTER TABLE people DROP COLUMN other")
    con.execute("ALTER TABLE people SET POLICY (RETENTION = 1 YEAR ON COLUMN day ACTION = ARCHIVE)")
    con.execute("CALL system.retain('people')")
    assert rows(con, "SELECT id FROM people") == [(2,)]
    _submit(store)
    assert _step(store) == "COMPLETED"
    assert store.holders(ADA.upper()) == []
    assert _holders(store, tmp_path) == []
    con.execute("ALTER TABLE people SET POLICY (RETENTION = NONE)")
    con.execute("CALL system.restore('people', backup => 'archive')")
    ((mail, phone),) = rows(con, "SELECT email, phone FROM people WHERE id = 1")
    assert (mail.partition(":")[0], phone) == ("hmac", None)
