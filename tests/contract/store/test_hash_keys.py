"""The key of keyed hashes stands in no statement, no log, no record and no file."""

from __future__ import annotations

import logging
from typing import Any

import duckdb
import psycopg
import pytest
from click.testing import CliRunner

from gateway.cli import main
from journal.erasure.column_changes import hash_key_of
from spark_compaction.backends.embedded_erasure import purge
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]
ADA = "ada@x.example"


class _Statements:
    """What goes to PostgreSQL, and the units of work of an embedded warehouse."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        execute, map_units = psycopg.Cursor.execute, purge.rewrite

        def run(cursor: Any, query: Any, params: Any = None, **more: Any) -> Any:
            self.texts += [str(query), str(params)]
            return execute(cursor, query, params, **more)

        def rewrite(engine: Any, files: Any, progress: Any) -> Any:
            self.texts += [str(f["like"].get(n)) for f in files for n in ("values", "applies")]
            return map_units(engine, files, progress)

        monkeypatch.setattr(psycopg.Cursor, "execute", run)
        monkeypatch.setattr(purge, "rewrite", rewrite)


@pytest.mark.long
@pytest.mark.drifts(hive="Spark has no parameters: the key is a literal of its statements")
@pytest.mark.also_on("hive", "postgres")
def test_the_key_of_an_hmac_is_in_no_statement_log_or_record(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    env = {"PALIMPSEST_WAREHOUSE": store.url}
    with store.connect() as con:
        con.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)"
            " WITH (erasure = 'email LOWER')"
        )
        con.execute(f"INSERT INTO people VALUES (1, '{ADA}'), (2, 'bob@x.example')")
        sent = _Statements(monkeypatch)
        for words in (
            ["policy", "--set", f"actions.{store.home}.people.email=hmac"],
            ["submit", "--action", "erasure", "--subject", f"email={ADA}"],
            ["run"],
        ):
            run = CliRunner().invoke(main, ["privacy", *words], env=env)
            assert run.exit_code == 0, run.output
        key = hash_key_of(con.session.journal.read_secret())  # type: ignore[attr-defined]
        assert any("sha256" in text.lower() for text in sent.texts)
        assert not [text for text in sent.texts if key in text]
        assert key not in caplog.text
        tables = ("events", "lineage", "jobs", "transactions", "erasures", "privacy_requests")
        for table in tables:
            assert key not in str(rows(con, f"SELECT * FROM system.{table}")), table
        ((mail,),) = rows(con, "SELECT email FROM people WHERE id = 1")
    assert store.holders(key) == []
    with duckdb.connect() as own:
        found = own.execute(
            "SELECT 'hmac:' || sha256($k || sha256($k || $v))", {"k": key, "v": ADA}
        ).fetchall()
    assert found == [(mail,)]
