"""The command line on a PostgreSQL database: what each command needs of the store."""

from __future__ import annotations

import json

from click.testing import CliRunner

from gateway.cli import main
from gateway.dbapi.connection import Connection


def _done(url: str, *words: str) -> str:
    found = CliRunner().invoke(main, [*words, "-w", url])
    assert found.exit_code == 0, found.output
    return found.output


def test_the_log_of_a_table(con: Connection, url: str) -> None:
    con.execute('CREATE TABLE "Two.words" (id INTEGER PRIMARY KEY); CREATE TABLE t (id INTEGER)')
    con.execute('INSERT INTO "Two.words" VALUES (1)')
    con.execute("INSERT INTO t VALUES (1)")
    for name in ('"two.words"', 'public."Two.words"'):
        (found,) = json.loads(_done(url, "log", name, "--json"))
        assert found["tables"] == ["public.Two.words"]
    assert json.loads(_done(url, "log", "nowhere", "--json")) == []
