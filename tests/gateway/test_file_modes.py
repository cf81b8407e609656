"""What a warehouse and its jobs write is its owner's, unless somebody configured otherwise."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import gateway
from gateway.cli import main
from journal.local_engine.file_modes import OWNER, FileModes, configured, modes_of, read_mode
from journal.stores.hive.catalog_db.engine import CatalogDatabase
from tests.support.client import Client

PASSPHRASE = "correct horse battery"
PEOPLE = (
    "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, day DATE)"
    " WITH (erasure = 'email LOWER')"
)
ROWS = (
    "INSERT INTO people SELECT i, 'p' || i || '@x.example', DATE '2024-01-01' + (i % 60)::INTEGER"
    " FROM range({low}, {high}) r(i)"
)


@pytest.fixture(autouse=True)
def everybody_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The umask that most machines have."""
    monkeypatch.setenv("PALIMPSEST_PASSPHRASE", PASSPHRASE)
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that everybody may look into."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-modes-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _modes(root: Path) -> dict[str, str]:
    """The mode of everything in a folder, and of itself, that is not 0700 or 0600."""
    found = {}
    for path in [root, *root.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        found[str(path.relative_to(root))] = f"{mode:04o}"
    return found


def _wider(root: Path, modes: FileModes = OWNER) -> dict[str, str]:
    allowed = {f"{modes.folder:04o}", f"{modes.file:04o}"}
    return {name: mode for name, mode in _modes(root).items() if mode not in allowed}


def _run(root: Path, *words: str) -> Result:
    found = CliRunner().invoke(main, list(words), env={"PALIMPSEST_WAREHOUSE": str(root)})
    assert found.exit_code == 0, found.output + found.stderr
    return found


def _through_all_jobs(root: Path, place: Path, check: Callable[[str], None]) -> None:
    """Everything that writes into a warehouse, or out of it; ``check`` is called in between."""
    subjects = place / "subjects.csv"
    subjects.write_text("email\np7@x.example\n")
    with gateway.connect(f"palimpsest:///{root}", autocommit=True, memory_rows=50) as connection:

        def run(sql: str) -> Any:
            found = connection.execute(sql).fetchall() if "SELECT" not in sql[:6] else None
            check(sql)
            return found

        connection.execute("SET job_engine = 'local'")
        connection.execute(PEOPLE)
        check("create")
        for sql in (
            ROWS.format(low=0, high=300),
            "CALL system.flush('people')",
            "INSERT INTO people VALUES (1000, 'q@x.example', DATE '2024-02-01')",
            "UPDATE people SET email = upper(email) WHERE id < 200",
        ):
            connection.execute(sql)
            check(sql)
        run("CALL system.compact('people')")
        run("CALL system.backup('people', name => 'one')")
        run(f"CALL system.backup('people', name => 'two', to => '{place / 'copies'}')")
        connection.execute("DELETE FROM people WHERE id % 3 = 0")
        run("CALL system.restore('people', backup => 'one')")
        connection.execute("DELETE FROM people WHERE id % 5 = 0")
        run("CALL system.restore('people', backup => 'two')")
        run(f"CALL system.access('people', subjects => '{subjects}', to => '{place}')")
        connection.execute("ERASE FROM people WHERE email = 'p7@x.example' OR id = 8")
        check("erase")
        run("CALL system.purge('people')")
        connection.execute(
            "ALTER TABLE people SET POLICY (RETENTION = 30 DAYS ON COLUMN day ACTION = ARCHIVE,"
            f" ARCHIVE = '{place / 'archive'}')"
        )
        run("CALL system.retain('people', now => '2024-02-15')")
        run("VACUUM people RETAIN 1 DAYS")
        run("CALL system.verify()")
        assert connection.execute("SELECT count(*) FROM people").fetchall()[0][0] > 100
    check("close")


def _others_read(*places: Path) -> str:
    """What somebody else may read in places; nothing where nobody can be somebody else."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return ""
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    found = subprocess.run(
        [*other, "find", *map(str, places), "-readable"], capture_output=True, text=True
    )
    return found.stdout


@pytest.mark.long
def test_all_that_a_warehouse_holds_is_its_owners(open_place: Path) -> None:
    root, place = open_place / "warehouse", open_place / "outside"
    place.mkdir()

    def check(after: str) -> None:
        assert _wider(root) == {}, after
        assert _others_read(root) == "", after

    _through_all_jobs(root, place, check)
    assert len(list(root.rglob("*.parquet"))) > 2
    assert list(root.rglob("filters.bloom"))
    assert (root / "_palimpsest" / "secret.key").is_file()
    assert list(place.glob("copies/*/two/files/*/*.parquet"))
    assert list(place.glob("archive/*/*/backup.json"))
    assert list(place.glob("*.package"))
    assert _others_read(place / "copies", place / "archive") == ""
    (place / "subjects.csv").unlink()
    assert set(_wider(place)) == {"."}


@pytest.mark.long
def test_what_the_command_line_makes(open_place: Path) -> None:
    root, file = open_place / "warehouse", open_place / "people.csv"
    _run(root, "init", str(root))
    assert _wider(root) == {}
    file.write_text("id,email\n1,ada@x.example\n2,bob@x.example\n")
    _run(root, "import", str(file), "people", "--create", "--key", "id")
    _run(root, "query", "ALTER TABLE people SET TBLPROPERTIES ('erasure' = 'email')")
    package, opened = open_place / "ada.package", open_place / "ada"
    package.write_bytes(b"somebody else's")
    package.chmod(0o644)
    who = ("--subject", "email=ada@x.example")
    _run(root, "access", "create", *who, str(package))
    _run(root, "access", "open", str(package), "--to", str(opened))
    assert stat.S_IMODE(package.stat().st_mode) == 0o600
    assert len(list(opened.iterdir())) > 1
    assert _wider(opened) == {}
    _run(root, "erase", "submit", *who)
    _run(root, "erase", "run", "--engine", "local")
    assert _wider(root) == {}
    plain = open_place / "plain.csv"
    _run(root, "export", "people", str(plain))
    assert stat.S_IMODE(plain.stat().st_mode) == 0o644, "whoever exports is asked by their umask"


@pytest.mark.long
def test_a_group_may_be_let_in(open_place: Path) -> None:
    root, place = open_place / "warehouse", open_place / "outside"
    place.mkdir(mode=0o700)
    gateway.connect(f"palimpsest:///{root}?warehouse_mode=0770").close()
    root.chmod(0o2770)
    _through_all_jobs(root, place, lambda _: None)
    private = root / "_palimpsest"
    assert {mode[-2:] for mode in _modes(private).values()} == {"00"}, "no affair of a group's"
    shutil.rmtree(private)
    assert set(_modes(root).values()) == {"2770", "0660"}, "a folder hands on group and mode"


def test_a_group_that_the_environment_lets_in(
    open_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_WAREHOUSE_MODE", "0750")
    root, copies = open_place / "warehouse", open_place / "copies"
    client = Client(root)
    client(PEOPLE)
    client(ROWS.format(low=0, high=10))
    client(f"CALL system.backup('people', name => 'two', to => '{copies}')")
    client.close()
    assert _wider(root, FileModes(0o750)) == _wider(copies, FileModes(0o750)) == {}
    monkeypatch.setenv("PALIMPSEST_WAREHOUSE_MODE", "everybody")
    with pytest.raises(gateway.Error, match="PALIMPSEST_WAREHOUSE_MODE"):
        Client(root)


def test_an_older_warehouse_stays_as_open_as_it_was(open_place: Path) -> None:
    root = open_place / "warehouse"
    client = Client(root)
    client(PEOPLE)
    client(ROWS.format(low=0, high=10))
    client("CALL system.flush('people')")
    client.close()
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    client = Client(root)
    client(ROWS.format(low=10, high=20))
    client("CALL system.flush('people')")
    client.close()
    assert _wider(root, FileModes(0o755)) == {}
    assert "0644" in _run(root, "verify").stderr
    private = f"palimpsest:///{root}?warehouse_mode=0700"
    gateway.connect(private).close()
    assert _wider(root) == {}
    client = Client(root)
    assert client("SELECT count(*) FROM people") == [(20,)]
    client.close()
    assert _run(root, "verify").stderr == ""


def test_an_empty_folder_becomes_private_and_a_shared_one_keeps_its_mode(open_place: Path) -> None:
    empty, shared = open_place / "empty", open_place / "shared"
    for folder in (empty, shared):
        folder.mkdir(mode=0o755)
    (shared / "others.txt").touch(mode=0o644)
    for root in (empty, shared):
        client = Client(root)
        client(PEOPLE)
        client(ROWS.format(low=0, high=10))
        client("CALL system.flush('people')")
        client("UPDATE people SET email = 'x' WHERE id = 1")
        (shared / "others.txt").chmod(0o600)
        assert _wider(root) in ({}, {".": "0755"})
        client.close()
    assert stat.S_IMODE(empty.stat().st_mode) == 0o700
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755


@pytest.mark.long
def test_rows_put_aside(open_place: Path) -> None:
    aside = open_place / "aside"
    aside.mkdir(mode=0o755)
    url = f"palimpsest:///{open_place / 'w'}?temp_directory={aside}&memory_limit=80MB"
    with gateway.connect(url) as connection:
        (folder,) = aside.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        cursor = connection.cursor()
        cursor.execute("SELECT i, md5(i::VARCHAR) m FROM range(3000000) r(i) ORDER BY m")
        assert cursor.fetchone() is not None
        assert list(folder.iterdir()), "it was not needed"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        cursor.close()
    assert list(aside.iterdir()) == []


def test_the_catalog_beside_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, given in (("a.db", 0o600), ("b.db", 0o640)):
        if given == 0o640:
            monkeypatch.setenv("PALIMPSEST_WAREHOUSE_MODE", "0750")
        catalog = CatalogDatabase(f"sqlite:///{tmp_path / name}")
        with catalog.writing() as connection:
            connection.text("CREATE TABLE t (a INTEGER)")
        found = [p for p in tmp_path.iterdir() if p.name.startswith(name)]
        assert len(found) > 1
        assert {stat.S_IMODE(p.stat().st_mode) for p in found} == {given}
        catalog.close()


@pytest.mark.parametrize(
    "text", ["0600", "0777", "x", "755", "0750", "0770", "0730", "0702", "2770"]
)
def test_modes_that_are_taken(text: str, tmp_path: Path) -> None:
    if text in {"755", "0750", "0770"}:
        modes = read_mode(text, "warehouse_mode")
        file = tmp_path / "file"
        file.touch()
        file.chmod(modes.file)
        assert modes_of(file) == modes == configured(text)
        return
    with pytest.raises(gateway.Error, match="needs the mode of a folder") as raised:
        gateway.connect(f"palimpsest:///{tmp_path / 'w'}?warehouse_mode={text}")
    assert raised.value.code == "PAL-222"
    assert not (tmp_path / "w").exists()


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("mode", ["0700", "0750"])
def test_what_spark_writes(open_place: Path, mode: str) -> None:
    root = open_place / "warehouse"
    gateway.connect(f"palimpsest:///{root}?warehouse_mode={mode}").close()
    client = Client(root)
    client("SET job_engine = 'spark'")
    client("SET spark_master = 'local[2]'")
    client(PEOPLE)
    client(ROWS.format(low=0, high=30_000))
    client("CALL system.flush('people')")
    client("UPDATE people SET day = day + 1 WHERE id % 2 = 0")
    client("CALL system.compact('people')")
    client("ERASE FROM people WHERE id = 7")
    client("CALL system.purge('people')")
    client.close()
    shutil.rmtree(root / "_palimpsest")
    assert _wider(root, read_mode(mode, "mode")) == {}
