"""Columns that an erasure changes, in every version, while the rows of people stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import gateway
from gateway.cli import main
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.needs(Capability.ERASURE),
]
ADA, BOB, OLD = "ada@x.example", "bob@x.example", "ada.old@x.example"


@pytest.fixture
def url(store: Store) -> str:
    """Two people; one has had another address, and two telephones."""
    with store.connect() as con:
        con.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, phone VARCHAR,"
            " note VARCHAR, dept INTEGER) WITH (erasure = 'email LOWER')"
        )
        con.execute(
            f"INSERT INTO people VALUES (1, '{OLD}', '+49 30 1234567', 'seven zebras', 1),"
            f" (2, '{BOB}', '+49 30 7654321', 'plain', 2)"
        )
        con.execute(f"UPDATE people SET email = '{ADA}', phone = '+49 40 9999999' WHERE id = 1")
        con.execute("UPDATE people SET dept = 3 WHERE id = 1")
    return store.url


def _run(url: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["privacy", *words], env={"PALIMPSEST_WAREHOUSE": url})


def _json(url: str, *words: str, code: int = 0) -> Any:
    run = _run(url, *words, "--json")
    assert run.exit_code == code, run.output + run.stderr
    return json.loads(run.stdout)


def _declare(store: Store, **actions: str) -> None:
    place = f"actions.{store.home}.people"
    words = [w for n, t in actions.items() for w in ("--set", f"{place}.{n}={t}")]
    _json(store.url, "policy", *words)


def _erase(url: str, mail: str) -> dict[str, Any]:
    _json(url, "submit", "--action", "erasure", "--subject", f"email={mail}")
    (batch,) = _json(url, "run")
    assert batch["step"] == "COMPLETED", batch
    return dict(batch)


def _history(store: Store) -> list[tuple[Any, ...]]:
    with store.connect() as con:
        return rows(
            con,
            "SELECT id, email, phone, note, dept FROM people FOR SYSTEM_TIME ALL"
            " ORDER BY id, version_number",
        )


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_copies_backups_and_what_is_restored_hold_no_old_value(
    store: Store, url: str, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    with store.connect() as con:
        con.execute("CALL system.backup('people', name => 'near')")
        con.execute(f"CALL system.backup('people', name => 'far', to => '{vault}')")
    _declare(store, email="format", phone="constant gone", note="hash")
    _erase(url, ADA)
    assert _places_of(OLD, vault) == []
    assert store.holders(OLD) == []
    with store.connect() as con:
        for name in ("near", "far"):
            con.execute(f"CALL system.restore('people', backup => '{name}')")
            people = rows(con, "SELECT id, phone FROM people ORDER BY id")
            assert people == [(1, "gone"), (2, "+49 30 7654321")]
    assert not {OLD, ADA, "+49 30 1234567", "seven zebras"} & set(sum(_history(store), ()))


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_a_view_of_them_follows(store: Store, url: str) -> None:
    with store.connect() as con:
        con.execute("CREATE MATERIALIZED VIEW mails AS SELECT id, email FROM people")
    _declare(store, email="mask")
    _erase(url, ADA)
    with store.connect() as con:
        found = rows(con, "SELECT id, email FROM mails ORDER BY id")
    assert found == [(1, "xxx@x.xxxxxxx"), (2, BOB)]


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_who_read_them_before_does_not_write_them_back(store: Store, url: str) -> None:
    _declare(store, email="hmac", phone="null")
    with store.connect(autocommit=False) as late:
        assert rows(late, "SELECT count(*) FROM people") == [(2,)]
        late.execute("UPDATE people SET dept = 9 WHERE id = 1")
        _erase(url, ADA)
        with pytest.raises(gateway.OperationalError) as caught:
            late.commit()
    assert getattr(caught.value, "sqlstate", None) == "40001"
    assert {p[2] for p in _history(store) if p[0] == 1} == {None}


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_a_table_is_kept_with_a_reason(store: Store, url: str) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE bills (n INTEGER PRIMARY KEY, email VARCHAR)"
                    " WITH (erasure = 'email LOWER')")  # fmt: skip
        con.execute(f"INSERT INTO bills VALUES (1, '{ADA}')")
    _json(url, "policy", "--set", f"actions.{store.home}.bills=keep tax law, ten years")
    batch = _erase(url, ADA)
    told = {r["table"].rpartition(".")[2]: r for r in batch["detail"]["receipts"]}
    assert "tax law, ten years" in told["bills"]["why"]
    with store.connect() as con:
        assert rows(con, "SELECT email FROM bills") == [(ADA,)]
        assert rows(con, "SELECT id FROM people") == [(2,)]


REFUSED = {
    "id=null": "part of the key",
    "code=hash": "UNIQUE",
    "boss=null": "refers to another table",
    "dept=hmac": "not text",
    "dept=constant many": "is no INT",
    "name=null": "NOT NULL",
    "shout=null": "computed",
    "email=null": "computed from",
    "name=mask": "its column email would still identify people",
    "gone=null": "no column gone",
    "name=shuffle": "is not a change of a column",
}


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_what_cannot_hold_is_refused_where_it_is_declared(store: Store) -> None:
    boss = ", boss INTEGER REFERENCES staff (id)"
    has_keys = Capability.FOREIGN_KEYS in store.capabilities
    with store.connect() as con:
        con.execute(
            "CREATE TABLE staff (id INTEGER PRIMARY KEY, email VARCHAR, code VARCHAR UNIQUE,"
            " dept INTEGER, name VARCHAR NOT NULL, shout VARCHAR GENERATED ALWAYS AS"
            f" (upper(email)){boss if has_keys else ''}) WITH (erasure = 'email')"
        )
    for setting, why in REFUSED.items():
        if setting.startswith("boss") and not has_keys:
            continue
        refused = _run(store.url, "policy", "--set", f"actions.{store.home}.staff.{setting}")
        assert (refused.exit_code, why in refused.stderr) == (1, True), (setting, refused.stderr)
    (shown,) = [_json(store.url, "policy")]
    assert (shown["version"], shown["actions"]) == (0, {})


def _places_of(value: str, root: Path) -> list[str]:
    """The files below a folder in which a text stands."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return [str(path) for path in files if value.encode() in path.read_bytes()]


@pytest.mark.also_on("hive", "postgres")
@pytest.mark.long
def test_rows_stay_in_every_version_and_hold_no_old_value(store: Store, url: str) -> None:
    _declare(store, email="hmac", phone="mask 2", note="null")
    batch = _erase(url, ADA)
    (receipt,) = [r for r in batch["detail"]["receipts"] if r["keys"]]
    assert receipt["columns"] == {"email": "hmac", "phone": "mask", "note": "null"}
    assert (receipt["versions_removed"], receipt["versions_changed"] > 0) == (0, True)
    with store.connect() as con:
        current = rows(con, "SELECT * FROM people ORDER BY id")
        assert current[1] == (2, BOB, "+49 30 7654321", "plain", 2)
        (one,) = current[:1]
        assert (one[0], one[2:]) == (1, ("+xx xx xxxxx99", None, 3))
        assert one[1].startswith("hmac:")
        con.execute("UPDATE people SET dept = 4 WHERE id = 1")
        assert rows(con, "SELECT dept FROM people WHERE id = 1") == [(4,)]
    past = _history(store)
    assert [p[0] for p in past] == [1, 1, 1, 1, 2]
    assert len({p[1] for p in past}) == 3  # two addresses of one person, and another's
    assert not {OLD, ADA, "+49 30 1234567", "+49 40 9999999", "seven zebras"} & set(sum(past, ()))
    for value in (OLD, ADA, "+49 30 1234567", "+49 40 9999999", "seven zebras"):
        assert store.holders(value) == []
    erased = CliRunner().invoke(main, ["verify"], env={"PALIMPSEST_WAREHOUSE": url})
    assert erased.exit_code == 0, erased.output
