"""``palimpsest erase``, ``audit`` and ``access`` as somebody at a terminal uses them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from journal.erasure.package import open_package, seal_package
from journal.model.errors import PalimpsestError
from tests.support.prepared_warehouse import prepared_warehouse

PASSPHRASE = "correct horse battery"
PEOPLE = (
    "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure='email LOWER')",
    "INSERT INTO people VALUES (1, 'ada@x.example'), (2, 'bob@x.example'), (3, NULL)",
    "UPDATE people SET email = 'ada@new.example' WHERE id = 1",
)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A warehouse with two people in it."""
    prepared_warehouse(tmp_path / "warehouse", PEOPLE)
    return tmp_path / "warehouse"


def _run(root: Path, *words: str, **options: Any) -> Result:
    environment = {"PALIMPSEST_WAREHOUSE": str(root), "PALIMPSEST_PASSPHRASE": PASSPHRASE}
    return CliRunner().invoke(main, list(words), env=environment, **options)


def _json(root: Path, *words: str) -> Any:
    run = _run(root, *words, "--json")
    assert run.exit_code == 0, run.output + run.stderr
    return json.loads(run.stdout)


def test_from_the_dry_run_to_the_receipt(there: Path, tmp_path: Path) -> None:
    ids = tmp_path / "ids.csv"
    ids.write_text("email,customer\nADA@x.example,\nnobody@x.example,\n")
    (planned,) = _json(there, "erase", "submit", "--file", str(ids), "--dry-run")
    assert planned["targets"][0]["versions_removed"] == 3
    (accepted,) = _json(there, "erase", "submit", "--file", str(ids), "--reason", "t 1")
    assert accepted["state"] == "ACCEPTED"
    assert _json(there, "query", "SELECT id FROM people")["row_count"] == 2
    (done,) = _json(there, "erase", "run", "--engine", "local")
    assert (done["state"], done["targets"][0]["outcome"]) == ("COMPLETED", "ERASED")
    shown = _run(there, "erase", "status", done["id"][:6])
    assert "main.people: ERASED" in shown.stdout
    assert "COMPLETED" in _run(there, "erase", "list").stdout
    assert _run(there, "erase", "cancel", done["id"]).exit_code == 1
    assert _json(there, "audit", "verify")["clean"]
    assert len(_json(there, "audit", "list")) == 3
    refused = _run(there, "query", "INSERT INTO people VALUES (9, 'ada@x.example')")
    assert "PAL-306" in refused.stderr
    assert "1 entries" in _run(there, "erase", "readmit", "--subject", "email=ada@x.example").stdout


def test_requests_that_make_no_sense_are_refused(there: Path) -> None:
    for words in (
        ("submit",),
        ("submit", "--subject", "email"),
        ("submit", "--subject", "email= "),
        ("submit", "--subject", "phone=1"),
        ("submit", "--subject", "email=a", "--table", "nobody"),
        ("status", "nobody"),
    ):
        run = _run(there, "erase", *words)
        assert run.exit_code == 1, words
        assert "PAL-" in run.stderr, words
    assert _json(there, "erase", "list") == []


def test_the_scope_is_kept(there: Path) -> None:
    assert _json(there, "erase", "scope") == {"allow": ["*"], "deny": []}
    _run(there, "erase", "scope", "--allow", "hr.*")
    run = _run(there, "erase", "submit", "--subject", "email=ada@x.example")
    assert "PAL-510" in run.stderr


def test_a_person_gets_all_versions_and_nobody_else_can_read_them(
    there: Path, tmp_path: Path
) -> None:
    package, folder = tmp_path / "ada.package", tmp_path / "ada"
    made = _run(there, "access", "create", "--subject", "email=ada@x.example", str(package))
    assert made.exit_code == 0, made.stderr
    assert b"ada@" not in package.read_bytes()
    assert _run(there, "access", "open", str(package), "--to", str(folder)).exit_code == 0
    lines = (folder / "main.people.jsonl").read_text().splitlines()
    assert [json.loads(line)["email"] for line in lines] == ["ada@x.example", "ada@new.example"]
    assert (folder / "main.people.parquet").stat().st_size
    other = _run(there, "access", "open", str(package), "--to", str(folder), "--passphrase", "x")
    assert (other.exit_code, "PAL-511" in other.stderr) == (1, True)
    assert _json(there, "audit", "list")[0]["action"] == "access.create"


@pytest.mark.long
def test_access_says_what_is_held_and_what_waits(there: Path, tmp_path: Path) -> None:
    package = str(tmp_path / "both.package")
    who = ("--subject", "email=ada@x.example", "--subject", "email=bob@x.example")
    made = _run(there, "access", "create", *who, package)
    assert made.exit_code == 0
    assert "main.people: 3 row versions\n" in made.stdout
    placed = _json(there, "hold", "place", "people", "--where", "id = 1", "--reason", "matter 7")
    hold = placed[0]["hold"]
    (accepted,) = _json(there, "erase", "submit", *who)
    assert accepted["state"] == "ON_HOLD"
    assert "matter 7" in accepted["waits_for"]
    made = _run(there, "access", "create", *who, package)
    told = (
        "main.people: 2 row versions; 1 key is held against an erasure, and in the package;"
        f" 1 key is waiting to be erased, and not in the package (request {accepted['id']})\n"
    )
    assert (made.exit_code, told in made.stdout) == (1, True), made.stdout
    found = open_package(Path(package).read_bytes(), PASSPHRASE, datetime.now(UTC))
    assert b"ada@x.example" in found.files["main.people.jsonl"]
    assert b"bob" not in found.files["main.people.jsonl"]
    assert accepted["id"] in json.loads(found.files["contents.json"])["waiting"]["main.people"]
    made = _run(there, "access", "create", *who, package, "--json")
    (table,) = json.loads(made.stdout)["tables"]
    assert (made.exit_code, table["rows"], table["held"], table["hidden"]) == (1, 2, 1, 1)
    assert table["requests"] == [accepted["id"]]
    only = _json(there, "access", "create", *who[:2], package)
    assert [only["tables"][0][n] for n in ("rows", "held", "hidden")] == [2, 1, 0]
    _run(there, "hold", "release", hold)
    made = _run(there, "access", "create", *who[:2], package)
    assert (made.exit_code, "0 row versions; 1 key is waiting" in made.stdout) == (1, True)


def test_a_package_holds_what_was_dropped_and_what_had_another_type(
    there: Path, tmp_path: Path
) -> None:
    for sql in (
        "ALTER TABLE people ADD COLUMN phone VARCHAR DEFAULT 'none'",
        "ALTER TABLE people ADD COLUMN size VARCHAR",
        "UPDATE people SET phone = '0170', size = 'tall' WHERE id = 1",
        "UPDATE people SET size = '180' WHERE id = 1",
        "ALTER TABLE people ALTER COLUMN size TYPE INTEGER",
        "ALTER TABLE people DROP COLUMN phone",
        "ALTER TABLE people ADD COLUMN phone INTEGER",
        "UPDATE people SET phone = 7, size = 181 WHERE id = 1",
        "CREATE TABLE visits (n INTEGER PRIMARY KEY, who VARCHAR) WITH (erasure = 'who AS email')",
        "INSERT INTO visits VALUES (1, 'ada@x.example'), (2, 'bob@x.example')",
        "DROP TABLE visits",
    ):
        assert _run(there, "query", sql).exit_code == 0, sql
    package, folder = tmp_path / "ada.package", tmp_path / "ada"
    _run(there, "access", "create", "--subject", "email=ada@x.example", str(package))
    assert _run(there, "access", "open", str(package), "--to", str(folder)).exit_code == 0
    rows = [json.loads(line) for line in (folder / "main.people.jsonl").read_text().splitlines()]
    held = [(row["size"], row["phone"], row["phone_dropped"]) for row in rows]
    assert held[-3:] == [("tall", None, "0170"), ("180", None, "0170"), ("181", 7, None)]
    (dropped,) = folder.glob("main.visits-dropped-*.jsonl")
    assert [json.loads(line)["n"] for line in dropped.read_text().splitlines()] == [1]


def test_packages_expire_and_cannot_be_altered() -> None:
    made = datetime(2024, 1, 1, tzinfo=UTC)
    ends = made + timedelta(days=1)
    data = seal_package({"a": b"1"}, PASSPHRASE, made, ends)
    assert open_package(data, PASSPHRASE, made).files == {"a": b"1"}
    altered = data.replace(b"2024-01-02", b"2034-01-02")
    for wrong, moment in ((data, ends), (altered, made), (data[:-1], made), (b"", made)):
        with pytest.raises(PalimpsestError, match="PAL-511"):
            open_package(wrong, PASSPHRASE, moment)
    with pytest.raises(PalimpsestError, match="PAL-511"):
        seal_package({}, "short", made, ends)
