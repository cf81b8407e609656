"""Requests of people over a store of each kind and a warehouse beside it, either way round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.dbapi.connection import Connection
from gateway.governance.declarations import Declaration
from gateway.governance.entity_operations import submit_entities
from gateway.governance.entity_schema import read_entity
from gateway.session.operations import no_progress
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]
ADA, BOB = "ada@x.example", "bob@x.example"


def _fill(con: Connection) -> None:
    con.execute(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email LOWER')"
    )
    con.execute(f"INSERT INTO people VALUES (1, '{ADA}'), (2, '{BOB}')")


def _declare(con: Connection, name: str, url: str) -> None:
    entity = read_entity(Declaration({"kind": "profile", "name": name, "url": url}))
    (result,) = submit_entities(con.session, no_progress, [entity])
    assert result.error is None


def _json(url: str, *words: str) -> Any:
    done = CliRunner().invoke(
        main, ["privacy", *words, "--json"], env={"PALIMPSEST_WAREHOUSE": url}
    )
    assert done.exit_code == 0, done.output + done.stderr
    return json.loads(done.stdout)


def _ask(url: str, action: str, mail: str, store: str, name: str) -> None:
    words = ("--action", action, "--subject", f"email={mail}", "--external-id", name)
    _json(url, "submit", *words, "--store", store)


@pytest.mark.long
def test_one_request_over_this_store_and_a_warehouse(store: Store, tmp_path: Path) -> None:
    beside = f"palimpsest:///{tmp_path}/beside"
    with gateway.connect(beside, autocommit=True) as con:
        _fill(con)
        _declare(con, "other", store.url)
        with store.connect() as other:
            _fill(other)
            _declare(other, "beside", beside)
        # The warehouse is the control store of the other.
        _ask(beside, "access", ADA, "*", "A")
        _ask(beside, "erasure", ADA, "*", "E")
        done = _json(beside, "run")
        assert sorted((b["action"], b["step"]) for b in done) == [
            ("access", "COMPLETED"),
            ("erasure", "COMPLETED"),
        ]
        # The other is that of the warehouse.
        _ask(store.url, "erasure", BOB, "*", "F")
        (batch,) = _json(store.url, "run")
        assert (batch["step"], sorted(batch["detail"]["stores"])) == ("COMPLETED", [".", "beside"])
        told = {r["table"]: r["outcome"] for r in batch["detail"]["receipts"]}
        assert sorted(told.values()) == ["ERASED", "ERASED"]
        assert rows(con, "SELECT id FROM people") == []
    with store.connect() as other:
        assert rows(other, "SELECT id FROM people") == []


@pytest.mark.also_on("hive")
def test_one_file_of_this_store_and_a_warehouse(store: Store, tmp_path: Path) -> None:
    beside = f"palimpsest:///{tmp_path}/beside"
    with gateway.connect(beside, autocommit=True) as con:
        _fill(con)
        with store.connect() as other:
            _fill(other)
            _declare(other, "beside", beside)
        _ask(store.url, "portability", ADA, "*", "P")
        (batch,) = _json(store.url, "run")
        assert batch["step"] == "COMPLETED"
        goal = tmp_path / "ada.zip"
        (export,) = _json(store.url, "export", "P", "--to", str(goal))
        assert export["rows"] == 2
        with ZipFile(goal) as read:
            folders = {name.split("/")[0] for name in read.namelist() if "/" in name}
        assert folders == {"_control", "beside"}
        # An erasure in the warehouse alone takes the whole file.
        words = ("--action", "erasure", "--subject", f"email={ADA}")
        _json(beside, "submit", *words)
        _json(beside, "run")
        assert not goal.exists()
