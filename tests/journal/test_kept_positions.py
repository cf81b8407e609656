"""Positions kept beside the files: the next process has them, for that state and for no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from journal.stores.embedded.journal import Journal
from journal.stores.embedded.positions import Thresholds
from tests.support.client import Client

QUERY = "SELECT k, v FROM t ORDER BY k"
SMALL = Thresholds(rows_min=100, wait_ns_per_row=10**9, again_ns_per_row=10**9)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are worth it, and only writes have positions found, not reads."""
    monkeypatch.setattr("journal.stores.embedded.positions.Thresholds", lambda: SMALL)


def _journal(run: Client) -> Journal:
    return run.connection.session.journal


def _shape(run: Client) -> str:
    return str(dict(run(f"EXPLAIN {QUERY}"))["palimpsest_shapes"]).split()[1]


def _kept(root: Path) -> list[Path]:
    return sorted(root.glob("_palimpsest/positions/*.bits"))


def _reopened(run: Client) -> Client:
    run.close()
    return Client(run.root)


@pytest.fixture
def t(run: Client) -> Client:
    """A table of which one write has ended a tenth of the rows, in sealed files."""
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    run("INSERT INTO t SELECT i, 'secret' || i FROM range(3000) r(i)")
    run("CALL system.flush('t')")
    run("UPDATE t SET v = 'other' WHERE k % 10 = 3")
    run("CALL system.flush('t')")
    return run


@pytest.mark.long
def test_the_next_process_has_them(t: Client) -> None:
    before = t(QUERY)
    t = _reopened(t)
    assert _kept(t.root)
    assert _shape(t) == "positions"
    assert t(QUERY) == before
    assert b"secret" not in b"".join(f.read_bytes() for f in _kept(t.root))


def test_another_state_has_none(t: Client) -> None:
    t = _reopened(t)
    t("DELETE FROM t WHERE k = 7")
    assert _shape(t) == "anti-join"
    before = t(QUERY)
    t = _reopened(t)
    assert _shape(t) == "anti-join"
    assert t(QUERY) == before
    assert (7, "secret7") not in before


def test_a_damaged_file_counts_for_nothing(t: Client) -> None:
    before = t(QUERY)
    t.close()
    (file,) = _kept(t.root)
    data = file.read_bytes()
    line, _, bits = data.partition(b"\n")
    flipped = bits[:-5] + bytes([bits[-5] ^ 1]) + bits[-4:]
    for harmed in (data[:-3], line + b"\n" + flipped, b"{}\n" + bits, b""):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(harmed)
        t = Client(t.root)
        assert _shape(t) == "anti-join"
        assert t(QUERY) == before
        t.close()


@pytest.mark.long
@pytest.mark.parametrize(
    "job",
    [
        "OPTIMIZE t",
        pytest.param("CALL system.purge('t')", marks=pytest.mark.slow),
        pytest.param("CALL system.restore('t', backup => 'b')", marks=pytest.mark.slow),
    ],
)
def test_jobs_that_replace_files_leave_no_wrong_bits(t: Client, job: str) -> None:
    t("CALL system.backup('t', name => 'b')")
    t("DELETE FROM t WHERE k < 1000 AND k % 2 = 0")
    t("CALL system.flush('t')")
    _journal(t).positions.wait()
    t("ERASE FROM t WHERE k = 5")
    assert _shape(t) == "anti-join"
    t(job)
    shown = t(QUERY)
    assert all(k != 5 for k, _ in shown)
    t = _reopened(t)
    assert t(QUERY) == shown
    t("CALL system.purge('t')")
    _journal(t).positions.wait()
    assert t(QUERY) == shown
    assert _shape(t) in {"anti-join", "base", "positions"}


@pytest.mark.long
def test_a_purge_removes_them(t: Client) -> None:
    _journal(t).positions.wait()
    assert _kept(t.root)
    t("ERASE FROM t WHERE k = 5")
    t("CALL system.purge('t')")
    assert not _kept(t.root)
    assert t("SELECT count(*) FROM t WHERE k >= 0") == [(2999,)]
