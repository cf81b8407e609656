"""What ``erase`` says of its work: runs on record, requests made twice, and copies left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]
ADA, BOB = "ada@x.example", "bob@x.example"


@pytest.fixture
def url(store: Store) -> str:
    """Two people, and the table of one of them made into another."""
    with store.connect() as con:
        con.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)"
            " WITH (erasure = 'email LOWER')"
        )
        con.execute(f"INSERT INTO people VALUES (1, '{ADA}'), (2, '{BOB}')")
        con.execute("CREATE TABLE other (k INTEGER PRIMARY KEY, mail VARCHAR)")
    return store.url


def _run(url: str, *words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"PALIMPSEST_WAREHOUSE": url})


def _json(url: str, *words: str, code: int = 0) -> Any:
    run = _run(url, *words, "--json")
    assert run.exit_code == code, run.output + run.stderr
    return json.loads(run.stdout)


def _submit(url: str, mail: str) -> dict[str, Any]:
    (request,) = _json(url, "erase", "submit", "--subject", f"email={mail}")
    return dict(request)


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_each_run_is_a_row_of_jobs_and_tells_of_itself_alone(store: Store, url: str) -> None:
    first = _submit(url, ADA)["id"]
    (done,) = _json(url, "erase", "run")
    assert (done["id"], done["state"]) == (first, "COMPLETED")
    second = _submit(url, BOB)["id"]
    assert [r["id"] for r in _json(url, "erase", "run", second[:8])] == [second]
    assert "No request waits." in _run(url, "erase", "run").stdout
    assert [r["state"] for r in _json(url, "erase", "list")] == ["COMPLETED", "COMPLETED"]
    with store.connect() as con:
        told = rows(
            con, "SELECT table_name, state, cause, options FROM system.jobs ORDER BY started_at"
        )
    assert told == [
        (f"{store.home}.people", "SUCCEEDED", "manual", json.dumps({"requests": name}))
        for name in (first, second)
    ]


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_a_request_does_not_wait_for_a_table_that_it_does_not_search(
    store: Store, url: str
) -> None:
    with store.connect() as con:
        con.execute("INSERT INTO other VALUES (1, 'x')")
        con.execute("INSERT INTO other VALUES (2, 'y')")
        con.execute("OPTIMIZE other")
    _submit(url, ADA)
    (done,) = _json(url, "erase", "run")
    assert done["state"] == "COMPLETED", done


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_whoever_is_named_twice_is_told_the_request_that_waits(store: Store, url: str) -> None:
    first = _submit(url, ADA)["id"]
    again = _run(url, "erase", "submit", "--subject", f"email={ADA.upper()}")
    assert (again.exit_code, "PAL-512" in again.stderr) == (1, True)
    assert f"request {first} of " in again.stderr
    both = ("--subject", f"email={ADA}", "--subject", f"email={BOB}")
    _json(url, "erase", "submit", *both)
    _json(url, "erase", "submit", "--subject", f"email={ADA}", "--scope", "all")
    with store.connect() as con:
        con.execute("ALTER TABLE other SET TBLPROPERTIES ('erasure' = 'mail AS email LOWER')")
    assert len(_submit(url, ADA)["targets"]) == 2
    _json(url, "erase", "run")
    _submit(url, ADA)


@pytest.mark.long
@pytest.mark.also_on("hive")
def test_tables_made_from_others_are_named_and_have_an_exit_code(store: Store, url: str) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE mailing AS SELECT email FROM people")
        con.execute("CREATE TABLE shapes AS SELECT * FROM people WITH NO DATA")
        con.execute("CREATE TABLE counted AS SELECT count(*) AS n FROM mailing")
        assert ("copied_from", "1") in rows(con, "SHOW TBLPROPERTIES mailing")
        con.execute("ALTER TABLE counted UNSET TBLPROPERTIES ('copied_from')")
    found = {t["table"]: t for t in _submit(url, ADA)["targets"]}
    left = f"{store.home}.mailing"
    assert [n for n, t in found.items() if t["holds_copies"]] == [left]
    assert f"it was made from rows of {store.home}.people" in found[left]["why"]
    run = _run(url, "erase", "run")
    assert (run.exit_code, f"WARNING: {left} may hold copies" in run.stderr) == (5, True)
    _json(url, "erase", "returned", "mailing", "--descriptor", "email LOWER")
    with store.connect() as con:
        con.execute("ALTER TABLE mailing SET TBLPROPERTIES ('erasure' = 'email LOWER')")
    _submit(url, BOB)
    _json(url, "erase", "run")


@pytest.mark.also_on("hive")
def test_files_and_bytes_that_were_searched_are_counted_alike(store: Store, url: str) -> None:
    with store.connect() as con:
        con.execute("OPTIMIZE people")
    (target, *_) = _submit(url, ADA)["targets"]
    # Tables and partitions of servers count as files of no bytes.
    assert target["files_searched"] + target["files_skipped"] > 0
    assert not target["bytes_searched"] or target["files_searched"]
    assert not target["bytes_skipped"] or target["files_skipped"]
