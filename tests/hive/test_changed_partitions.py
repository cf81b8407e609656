"""A full disk, a folder that takes no writes, and others who change journals behind our back."""

from __future__ import annotations

import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive import row_count_check
from journal.stores.hive.journal import HiveJournal
from tests.support.thrift_server import ThriftServer

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


def _mount(*words: str) -> bool:
    return subprocess.run(["mount", *words], check=False, capture_output=True).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte; skips where none may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not _mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)):
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def on_small_disk(server: ThriftServer, small_disk: Path, tmp_path: Path) -> Iterator[Connection]:
    """A store whose journals lie on that disk, with a table of one row."""
    url = server.new_store(tmp_path)
    with gateway.connect(url, autocommit=True) as con:
        journal = con.session.journal
        assert isinstance(journal, HiveJournal)
        with journal.store.connection() as plain:
            database = journal.names.journal_database
            plain.execute(f"CREATE DATABASE {database} LOCATION '{small_disk}/journals'")
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'kept')")
        yield con


def _refused(con: Connection, sql: str) -> gateway.Error:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql)
    return raised.value


def test_a_full_disk_keeps_nothing_and_loses_nothing(
    on_small_disk: Connection, small_disk: Path
) -> None:
    con = on_small_disk
    filler = small_disk / "filler"
    fill = ["dd", "if=/dev/zero", f"of={filler}", "bs=4k"]
    assert subprocess.run(fill, check=False, capture_output=True).returncode != 0
    assert _refused(con, "INSERT INTO t VALUES (2, 'lost')").code == "PAL-504"
    filler.unlink()
    assert con.execute("SELECT * FROM t").fetchall() == [(1, "kept")]
    con.execute("INSERT INTO t VALUES (2, 'kept, too')")
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(2,)]
    assert con.session.executor.upkeep.verify().is_clean


def test_a_folder_that_takes_no_writes(on_small_disk: Connection, small_disk: Path) -> None:
    con = on_small_disk
    if not _mount("-o", "remount,ro", str(small_disk)):
        pytest.skip("the file system cannot be mounted for reading here")
    assert _refused(con, "INSERT INTO t VALUES (2, 'lost')").code == "PAL-504"
    assert con.execute("SELECT * FROM t").fetchall() == [(1, "kept")]
    assert _mount("-o", "remount,rw", str(small_disk))
    con.execute("INSERT INTO t VALUES (2, 'kept')")
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(2,)]


@pytest.fixture
def url(server: ThriftServer, tmp_path: Path) -> str:
    """A store whose gateway looks with every query whether partitions are there."""
    return server.new_store(tmp_path, presence="0")


@pytest.fixture
def journal(con: Connection) -> HiveJournal:
    """The journals of a store with one table of two rows."""
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    found = con.session.journal
    assert isinstance(found, HiveJournal)
    return found


def _place(journal: HiveJournal) -> tuple[str, str]:
    """The table and the partition of the first segment."""
    name, _, partition = _segments(journal)[0].partition("/")
    return f"{journal.names.journal_database}.{name}", partition


def _segments(journal: HiveJournal) -> list[str]:
    (state,) = journal.read_committed()[1].tables.values()
    return [s.files[0].path for s in state.manifest.segments]


def _change(journal: HiveJournal, change: str) -> None:
    """Change the first segment's partition as somebody who knows nothing of the gateway."""
    now = "TIMESTAMP '2020-01-01 00:00:00', NULL"
    with journal.store.connection() as plain:
        plain.execute(change.format(*_place(journal), now))


def test_a_partition_that_others_dropped_is_no_shorter_answer(
    con: Connection, journal: HiveJournal
) -> None:
    con.execute("INSERT INTO t VALUES (3, 'c')")
    _change(journal, "ALTER TABLE {0} DROP PARTITION (palimpsest_segment = '{1}')")
    for read in (
        "SELECT count(*) FROM t",
        "SELECT v FROM t WHERE k > ? OR v IS NULL",
        "SELECT k FROM t FOR SYSTEM_TIME AS OF now()",
        "WITH a AS (SELECT max(k) AS k FROM t) SELECT * FROM a JOIN t USING (k)",
    ):
        parameters = [0] * read.count("?")
        with pytest.raises(gateway.OperationalError, match="missing") as raised:
            con.execute(read, parameters)
        assert raised.value.code == "PAL-503"
    for write in ("UPDATE t SET v = v || 'x'", "INSERT INTO t SELECT k + 10, v FROM t"):
        assert _refused(con, write).code == "PAL-503"
    assert _refused(con, "CALL system.compact('t')").code == "PAL-503"
    assert len(_segments(journal)) == 2


def _folder(journal: HiveJournal) -> Path:
    """The folder of the first segment."""
    table, segment = _place(journal)
    with journal.store.connection() as plain:
        rows = plain.run(f"DESCRIBE EXTENDED {table}")
    (place,) = [str(row[1]) for row in rows if row[0] == "Location"]
    return Path(place.removeprefix("file:")) / f"palimpsest_segment={segment}"


def _file(journal: HiveJournal) -> Path:
    """The file with the rows of the first segment."""
    return next(_folder(journal).glob("*.parquet"))


def _delete(journal: HiveJournal, tmp_path: Path) -> None:
    place = _file(journal)
    shutil.move(place, tmp_path / place.name)


def _add(journal: HiveJournal, tmp_path: Path) -> None:
    place = _file(journal)
    shutil.copy(place, place.with_name("added.parquet"))


def _insert(journal: HiveJournal, tmp_path: Path) -> None:
    _change(journal, "INSERT INTO {0} PARTITION (palimpsest_segment = '{1}') VALUES (9, 'x', {2})")


def _move(journal: HiveJournal, tmp_path: Path) -> None:
    change = "ALTER TABLE {0} PARTITION (palimpsest_segment = '{1}') SET LOCATION "
    _change(journal, f"{change}'{tmp_path}/empty'")


def _remove(journal: HiveJournal, tmp_path: Path) -> None:
    shutil.move(_folder(journal), tmp_path / "segment")


CHANGES = [_delete, _add, _insert, _move, _remove]


@pytest.mark.parametrize("is_known", [False, True], ids=["to a new gateway", "to one that read"])
@pytest.mark.parametrize("change", CHANGES)
def test_files_that_others_change_are_no_other_answer(
    con: Connection,
    journal: HiveJournal,
    url: str,
    tmp_path: Path,
    change: Callable[[HiveJournal, Path], None],
    is_known: bool,
) -> None:
    con.execute("INSERT INTO t VALUES (3, 'c')")
    if is_known:
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(3,)]
    change(journal, tmp_path)
    # A session of the server reads on what it saw; another sees what there is.
    journal.store.forget_idle()
    with gateway.connect(f"{url}&lease=14", autocommit=True) as other:
        reader = con if is_known else other
        for read in ("SELECT count(*) FROM t", "SELECT v FROM t WHERE k > 2"):
            error = _refused(reader, read)
            assert (error.code, error.sqlstate) == ("PAL-503", "58030")
        assert _refused(reader, "UPDATE t SET v = v || 'x'").code == "PAL-503"
    assert len(_segments(journal)) == 2


def test_what_is_mended_is_read_again(
    con: Connection, journal: HiveJournal, tmp_path: Path
) -> None:
    place = _file(journal)
    con.execute("SELECT count(*) FROM t")
    shutil.move(place, tmp_path / "kept")
    assert _refused(con, "SELECT count(*) FROM t").code == "PAL-503"
    shutil.move(tmp_path / "kept", place.with_name("other-name.parquet"))
    assert con.execute("SELECT max(v) FROM t").fetchall() == [("b",)]
    con.execute("CALL system.compact('t')")


@pytest.mark.parametrize("change", CHANGES)
def test_many_rows_are_counted_in_the_background(
    con: Connection,
    journal: HiveJournal,
    tmp_path: Path,
    change: Callable[[HiveJournal, Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_count_check, "COUNTED_AT_ONCE", 0)
    change(journal, tmp_path)
    deadline, codes = time.monotonic() + 120, set[str]()
    while not codes and time.monotonic() < deadline:
        try:
            con.execute("SELECT count(*) FROM t")
        except gateway.OperationalError as error:
            codes.add(error.code)
    assert codes == {"PAL-503"}


@pytest.mark.parametrize("commits", [1, 2])
@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE {0}",
        "ALTER TABLE {0} DROP PARTITION (palimpsest_segment = '{1}')",
        "ALTER TABLE {0} RENAME TO {0}_old; CREATE TABLE {0} (k INT, s STRING) USING PARQUET",
    ],
    ids=["dropped", "partition dropped", "replaced"],
)
def test_a_job_says_that_its_journal_is_gone(
    con: Connection, journal: HiveJournal, change: str, commits: int
) -> None:
    if commits > 1:
        con.execute("DELETE FROM t WHERE k = 1")
    for part in change.split(";"):
        _change(journal, part)
    for job in (
        "CALL system.compact('t')",
        "CALL system.compact('t', mode => 'minor')",
        "CALL system.compact('t', dry_run => true)",
        "OPTIMIZE t",
    ):
        error = _refused(con, job)
        assert (error.code, error.sqlstate) == ("PAL-503", "58030")
    assert len(_segments(journal)) == commits


@pytest.mark.parametrize("change", ["ALTER TABLE {0} ADD COLUMNS (more INT)", "DROP TABLE {0}"])
def test_a_journal_that_others_changed_takes_no_rows(
    con: Connection, journal: HiveJournal, change: str
) -> None:
    before = _segments(journal)
    _change(journal, change)
    error = _refused(con, "INSERT INTO t VALUES (3, 'c')")
    assert (error.code, error.sqlstate) == ("PAL-503", "58030")
    assert _segments(journal) == before


def test_rows_in_other_partitions_are_not_read(con: Connection, journal: HiveJournal) -> None:
    table, _ = _place(journal)
    with journal.store.connection() as plain:
        plain.execute(
            f"INSERT INTO {table} PARTITION (palimpsest_segment = 'x{uuid.uuid4().hex}')"
            " VALUES (9, 'x', TIMESTAMP '2020-01-01 00:00:00', NULL)"
        )
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(2,)]
    assert con.session.executor.upkeep.verify().is_clean


@pytest.mark.parametrize("columns", ["k INT, palimpsest_segment STRING", None])
def test_a_journal_without_its_columns(
    con: Connection, journal: HiveJournal, columns: str | None
) -> None:
    table, _ = _place(journal)
    with journal.store.connection() as plain:
        plain.execute(f"DROP TABLE {table}")
        if columns is not None:
            kept = "USING PARQUET PARTITIONED BY (palimpsest_segment)"
            plain.execute(f"CREATE TABLE {table} ({columns}) {kept}")
    error = _refused(con, "SELECT v FROM t")
    assert error.code == "PAL-503"
    assert error.sqlstate == "58030"
