"""``palimpsest status`` on every store: sizes, what is due, what failed."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from tests.support.stores.store import Capability, Store


def _run(url: str, *words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"PALIMPSEST_WAREHOUSE": url})


@pytest.mark.needs(Capability.ERASURE)
@pytest.mark.also_on("hive", "postgres")
def test_the_status_tells_sizes_due_jobs_and_failures(store: Store) -> None:
    with store.connect() as con:
        con.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')"
        )
        con.execute("INSERT INTO people VALUES (1, 'ada'), (2, 'bob')")
        con.execute("ALTER TABLE people SET POLICY (SCHEDULE_verify = '0 3 * * *')")
    name, url = f"{store.home}.people", store.url
    assert _run(url, "erase", "submit", "--subject", "email=ada").exit_code == 0
    run = _run(url, "status", "--json")
    assert run.exit_code == 0, run.output + run.stderr
    told = json.loads(run.stdout)
    (table,) = told["tables"]
    assert table["table"] == name
    assert sum(table[f"{tier}_rows"] for tier in ("head", "delta", "base")) == 2
    assert [(j["kind"], j["table"], j["at"] is None) for j in told["jobs"]] == [
        ("purge", name, True),
        ("verify", name, False),
    ]
    assert told["erasures"] == [{"state": "ACCEPTED", "requests": 1}]
    assert (told["failed"], told["open_in"]) == ([], None)
    assert _run(url, "job", "restore", "people", "--backup", "none").exit_code == 1
    run = _run(url, "status")
    assert run.exit_code == 1
    assert f"FAILED: restore of {name}" in run.stderr
    assert f"due now: purge of {name} (erasures wait)" in run.stdout
    _run(url, "erase", "run")
    assert "purge" not in _run(url, "status").stdout


@pytest.mark.needs(Capability.BACKUPS)
@pytest.mark.also_on("postgres")
def test_a_size_that_no_store_tells_is_unknown_and_not_zero(store: Store) -> None:
    with store.connect() as con:
        con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1), (2)")
        con.execute("OPTIMIZE t")
        con.execute("CALL system.backup('t', name => 'kept')")
        for view in ("journals", "segments", "backups"):
            for (size,) in con.execute(f"SELECT bytes FROM system.{view}").fetchall():
                assert size is None or size > 0, view
        (size,) = con.execute("SELECT bytes FROM system.journals").fetchone() or ()
    shown = "unknown bytes" if size is None else f"{size:,} bytes"
    run = _run(store.url, "status")
    assert f"1 table, {shown} in segments" in run.stdout
    assert f"segment, {shown}\n" in run.stdout
    told = json.loads(_run(store.url, "status", "--json").stdout)
    assert told["tables"][0]["bytes"] == size
    run = _run(store.url, "verify")
    assert "(0 bytes)" not in run.stdout, run.stdout
    assert json.loads(_run(store.url, "verify", "--json").stdout)["bytes"] != 0
    (done,) = json.loads(_run(store.url, "job", "verify", "t", "--json").stdout)
    assert done["report"]["read"]["bytes"] != 0
