"""Rows G2, G5, G11 and G19 of governance: whom a purge takes, and what it says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]


def _json(url: str, *words: str) -> Any:
    run = CliRunner().invoke(main, [*words, "--json"], env={"PALIMPSEST_WAREHOUSE": url})
    assert run.exit_code == 0, run.output + run.stderr
    return json.loads(run.stdout)


@pytest.mark.also_on("hive", "postgres")
def test_p16_a_computed_column_is_the_form_in_which_people_are_named(store: Store) -> None:
    with store.connect() as con:
        con.execute(
            "CREATE TABLE callers (id INTEGER PRIMARY KEY, phone VARCHAR, digits VARCHAR"
            " GENERATED ALWAYS AS (regexp_replace(phone, '[^0-9]', '', 'g')))"
            " WITH (erasure = 'digits AS phone')"
        )
        con.execute("INSERT INTO callers (id, phone) VALUES (1, '+49 (30) 12-34'), (2, '030 1234')")
        con.execute("UPDATE callers SET phone = '77' WHERE id = 1")
        _json(store.url, "erase", "submit", "--subject", "phone=49301234")
        with pytest.raises(gateway.Error, match="erased"):
            con.execute("INSERT INTO callers (id, phone) VALUES (3, '+49/301234')")
        _json(store.url, "erase", "run")
        past = "SELECT id FROM callers FOR SYSTEM_TIME ALL"
        assert rows(con, past) == [(2,)]
    assert store.holders("12-34") == []


def test_g2_g5_g11_g19_null_and_repeated_identifiers(store: Store, tmp_path: Path) -> None:
    with store.connect() as con:
        con.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)"
            " WITH (erasure = 'email LOWER')"
        )
        con.execute("INSERT INTO people VALUES (1, 'a@x.example'), (2, NULL), (3, 'b@x.example')")
        con.execute("UPDATE people SET email = NULL WHERE id = 3")
        con.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY, email VARCHAR)")
        con.execute("INSERT INTO plain VALUES (1, 'a@x.example')")
        # The person is in a column of a table, too, which erasures do not search.
        con.execute("CREATE TABLE leavers (who VARCHAR)")
        con.execute("INSERT INTO leavers VALUES ('a@x.example'), ('A@x.example'), (NULL)")
    asked = "SELECT who AS email FROM leavers"
    (told,) = _json(store.url, "erase", "submit", "--query", asked, "--dry-run")
    counted = {t["table"].split(".")[-1]: t["keys"] for t in told["targets"]}
    assert counted["people"] == 1
    planned = _json(store.url, "privacy", "submit", "--action", "access", "--query", asked)
    assert [r["state"] for r in planned] == ["QUEUED", "DUPLICATE"]
    file = tmp_path / "ids.csv"
    file.write_text("email\na@x.example\nA@x.example\na@x.example\n")
    _json(store.url, "erase", "submit", "--file", str(file))
    (request,) = _json(store.url, "erase", "run")
    by_table = {t["table"].split(".")[-1]: t for t in request["targets"]}
    people, plain = by_table["people"], by_table["plain"]
    assert (people["outcome"], people["keys"], people["versions_removed"]) == ("ERASED", 1, 1)
    assert plain["outcome"] == "NOT_SEARCHED"
    assert "no erasure descriptor" in plain["why"]
    with store.connect() as con:
        assert rows(con, "SELECT id FROM people ORDER BY id") == [(2,), (3,)]
        assert rows(con, "SELECT count(*) FROM plain") == [(1,)]
        (job,) = rows(con, "SELECT rows_read, rows_written, rows_removed FROM system.jobs")
    assert job[0] == job[1] + job[2]
