"""Warehouses of the version before: brought to this format with what they say, or refused."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import gateway
from journal.erasure.seam import ErasureJournal
from journal.local_engine.session import DuckDBSession
from journal.records.catalog_format import put_meta
from journal.records.schema import AUDIT, FORMAT
from journal.records.statements import delete, update
from journal.stores.embedded.journal import Journal
from tests.support import formats
from tests.support.audit_log import append_at_once

_FORMATS = [
    pytest.param(n, marks=() if n in {1, 8, FORMAT - 1} else pytest.mark.slow)
    for n in (1, *range(8, FORMAT))
]


@pytest.fixture(params=_FORMATS)
def before(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A warehouse of an older format."""
    name = "embedded.tar.gz" if request.param == 1 else f"embedded_{request.param}.tar.gz"
    with tarfile.open(formats.FOLDER / name) as packed:
        packed.extractall(tmp_path / "before", filter="data")
    return tmp_path / "before"


def _format(root: Path) -> list[tuple[Any, ...]]:
    journal = Journal(root)
    try:
        with journal.reading_session() as session:
            return session.text("SELECT value FROM _palimpsest.meta WHERE key = 'format'")
    finally:
        journal.close()


def test_a_warehouse_that_the_version_before_made_is_read(before: Path) -> None:
    with gateway.connect(f"palimpsest:///{before}", autocommit=True) as con:
        formats.check(con)
        formats.go_on(con)
    assert _format(before) == [(str(FORMAT),)]
    with gateway.connect(f"palimpsest:///{before}", autocommit=True) as con:
        assert con.execute("SELECT name FROM people").fetchall() == [("Ada L.",)]


def test_a_newer_warehouse_is_refused(before: Path) -> None:
    journal = Journal(before)
    with journal.exclusive_session() as session:
        put_meta(session, "format", str(FORMAT + 1))
        session.commit()
    journal.close()
    said = f"format {FORMAT + 1}, of a newer version; this version reads format {FORMAT}"
    with pytest.raises(gateway.Error, match=said) as raised:
        gateway.connect(f"palimpsest:///{before}")
    assert raised.value.code == "PAL-502"
    assert "upgrade palimpsest" in str(raised.value)


@pytest.mark.first(1)
def test_the_audit_log_only_grows(before: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement that names it reads it, or adds an entry."""
    said: list[str] = []
    text = DuckDBSession.text

    def noted(self: DuckDBSession, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        said.append(sql)
        return text(self, sql, values)

    monkeypatch.setattr(DuckDBSession, "text", noted)
    with gateway.connect(f"palimpsest:///{before}", autocommit=True) as con:
        formats.go_on(con)
        journal = cast("ErasureJournal", con.session.journal)
        append_at_once([journal, journal])
    about = [sql for sql in said if '"audit"' in sql and not sql.startswith("SELECT")]
    assert about
    assert all(sql.startswith("INSERT INTO") for sql in about)


def test_no_statement_can_be_built_that_changes_the_audit_log() -> None:
    with pytest.raises(AssertionError, match="only grows"):
        delete(AUDIT, {})
    with pytest.raises(AssertionError, match="only grows"):
        update(AUDIT, ["actor"])
