"""Rows that refer to what erasures and retention take stay, and everybody is told how many."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.procedures.erasure_program import erasure_of
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.requests import ErasureRequest
from tests.support.client import Client

SETUP = (
    (
        "CREATE TABLE p (id INT PRIMARY KEY, email VARCHAR, code INT UNIQUE, ds DATE)"
        " WITH (erasure = 'email LOWER')"
    ),
    "CREATE TABLE c (k INT PRIMARY KEY, who INT REFERENCES p, code INT REFERENCES p (code))",
    (
        "CREATE TABLE s (id INT PRIMARY KEY, boss INT REFERENCES s (id), email VARCHAR)"
        " WITH (erasure = 'email')"
    ),
    (
        "INSERT INTO p VALUES (1, 'ada@x', 10, '2020-01-01'), (2, 'bob@x', 20, '2024-01-01'),"
        " (3, 'Ada@X', NULL, '2024-01-01')"
    ),
    "INSERT INTO c VALUES (1, 1, 20), (2, 1, 10), (3, 2, 10), (4, NULL, NULL), (5, 3, 20)",
    "CALL system.flush()",
    "UPDATE c SET who = 2 WHERE k = 2",
    "INSERT INTO s VALUES (1, NULL, 'ada@x')",
    "INSERT INTO s VALUES (2, 1, 'ada@x'), (3, 1, 'bob'), (4, 2, 'eve')",
)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path / "warehouse")
    for sql in SETUP:
        client(sql)
    yield client
    client.close()


def left(request: ErasureRequest) -> dict[str, int]:
    return {name: n for t in request.targets for name, n in t.dangling.items()}


def report(run: Client, sql: str) -> dict[str, Any]:
    return dict(json.loads(run(sql)[0][-1]))


@pytest.mark.long
def test_plan_and_receipt_count_them_by_foreign_key(run: Client) -> None:
    erasure = erasure_of(run.connection.session)
    wanted = ErasureSpec({"email": ["ada@x"]})
    expected = {"main.c (c_who_fkey)": 2, "main.c (c_code_fkey)": 2, "main.s (s_boss_fkey)": 2}
    assert left(erasure.dry_run(wanted)) == expected
    request = erasure.accept(wanted, "me")
    assert left(request) == expected
    run("CALL system.purge()")
    (done,) = requests(erasure.journal)
    assert (done.state.value, left(done)) == ("COMPLETED", expected)
    assert report(run, "CALL system.verify('c')")["details"]["dangling"] == {
        "main.c (c_who_fkey)": 2,
        "main.c (c_code_fkey)": 2,
    }
    assert run.sorted("SELECT k FROM c") == [(k,) for k in range(1, 6)]


def test_what_dangles_already_and_what_goes_too_is_not_counted_again(run: Client) -> None:
    ((*_, why),) = run("ERASE FROM p WHERE id = 3")
    assert why.endswith("; rows that refer to what goes: 1 of main.c (c_who_fkey)")
    for again in ("ERASE FROM p WHERE id = 3", "ERASE FROM s WHERE TRUE"):
        ((*_, why),) = run(again)
        assert "refer to what goes" not in why


@pytest.mark.long
def test_retention_by_date_counts_them_in_plan_and_report(run: Client) -> None:
    run("ALTER TABLE p SET POLICY (RETENTION = 1 YEAR ON COLUMN ds, VERSIONS = 5)")
    for dry_run in ("true", "false"):
        found = report(run, f"CALL system.retain('p', now => '2022-01-01', dry_run => {dry_run})")
        assert found["details"]["dangling"] == {"main.c (c_who_fkey)": 1, "main.c (c_code_fkey)": 2}
        assert "refer to what goes" in found["why"]
    again = report(run, "CALL system.retain('p', now => '2022-01-01')")
    assert "dangling" not in again["details"]
