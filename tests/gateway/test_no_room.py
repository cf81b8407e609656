"""A full disk, a right that is lacking, a folder that vanished: a code, and nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest

import gateway
from journal.local_engine.errors import translate
from journal.model.errors import Code
from journal.model.failures import coded
from tests.support.no_room import (
    COMMANDS,
    ERASED,
    PARTS,
    ROWS,
    copied,
    fill_disk,
    make,
    outcome,
    run,
    small_disk,
)
from tests.support.tiers import in_tiers

CHECKPOINTS = "?wal_autocheckpoint=1KB"
"""Each commit is worked into the file at once, as every one of many megabytes is."""
CODES = ("PAL-504", "PAL-507")


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    """A small file system with the warehouse on it; its template lies elsewhere."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-no-room-") as folder:
        place, template = Path(folder, "disk"), Path(folder, "template")
        place.mkdir()
        with small_disk(place, 48):
            make(place)
            shutil.copytree(place, template)
            yield place


def _count(disk: Path) -> int:
    with gateway.connect(f"palimpsest:///{disk / 'w'}") as connection:
        return int(connection.execute("SELECT count(*) FROM people").fetchall()[0][0])


def _without_room(disk: Path, name: str, free: int, options: str) -> None:
    """Run a command with little room, then with enough; nothing raises, and nothing is lost."""
    copied(disk.parent / "template", disk)
    fill_disk(disk, free)
    code, said = outcome(run(disk, *COMMANDS[name], options=options))
    case = f"{name}, {free} bytes left {options}: {code} {said}"
    assert code in {0, 1, 3}, case
    assert code == 0 or any(c in said for c in CODES), case
    left = [p.name for p in disk.rglob("*") if p.name.endswith((".new", ".live", ".part"))]
    assert left == [] or code == 0, case
    (disk / "ballast").unlink()
    found = run(disk, "verify")
    assert found.exit_code == 0, f"{case}: {found.stderr}"
    if name not in {"import", "retain", "scheduler", "shell", "erase submit", "hold"}:
        assert _count(disk) == ROWS - ERASED, case
    if code != 0:
        code, said = outcome(run(disk, *COMMANDS[name]))
        assert code == 0, f"{case}; then: {said}"


_FULL_IN_PURGES = [
    ("erase run", 300_000, CHECKPOINTS),
    *(("erase run", free, "") for free in (0, 1_500_000, 2_000_000, 2_600_000, 3_300_000)),
]


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("name", "free", "options"),
    [
        ("init", 0, ""),
        ("query to a file", 0, ""),
        ("access open", 0, ""),
        ("shell to a file", 0, ""),
        ("backup", 1_000_000, ""),
        ("flush", 300_000, CHECKPOINTS),
        ("erase submit", 100_000, CHECKPOINTS),
        ("vacuum", 60_000, CHECKPOINTS),
        *in_tiers(_FULL_IN_PURGES, {("erase run", 2_000_000, "")}),
    ],
)
def test_a_full_disk_raises_store_write_and_changes_nothing(
    disk: Path, name: str, free: int, options: str
) -> None:
    _without_room(disk, name, free, options)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("options", ["", CHECKPOINTS])
@pytest.mark.parametrize("free", [0, 60_000, 300_000, 900_000, 2_000_000, 4_000_000])
def test_every_command_on_a_full_disk(disk: Path, free: int, options: str) -> None:
    for name in COMMANDS:
        _without_room(disk, name, free, options)


def test_sealing_goes_on_when_there_is_room(disk: Path) -> None:
    copied(disk.parent / "template", disk)
    with gateway.connect(
        f"palimpsest:///{disk / 'w'}", autocommit=True, flush_rows=1000
    ) as connection:
        connection.execute("CREATE TABLE sealed (id INTEGER PRIMARY KEY, v VARCHAR)")
        insert = "INSERT INTO sealed SELECT i, md5(i::VARCHAR) FROM range(?, ?) r(i)"
        fill_disk(disk, 150_000)
        connection.execute(insert, [0, 1500])
        sealer = connection.session.executor.upkeep
        assert sealer.wait(20), "its thread died"
        (disk / "ballast").unlink()
        connection.execute(insert, [1500, 3000])
        assert sealer.wait(20)
        until = time.monotonic() + 20
        count = "SELECT count(*) FROM system.segments WHERE \"table\" = 'sealed'"
        while not connection.execute(count).fetchall()[0][0] and time.monotonic() < until:
            time.sleep(0.1)
        assert connection.execute(count).fetchall()[0][0]
        assert connection.execute("SELECT count(*) FROM sealed").fetchall() == [(3000,)]


@pytest.mark.parametrize("words", [("query", "SELECT 1"), ("--help",), ("query", "x", "--json")])
def test_output_without_room(commands: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    gateway.connect(f"palimpsest:///{tmp_path / 'w'}").close()
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [commands / "palimpsest", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PALIMPSEST_WAREHOUSE": str(tmp_path / "w")},
        )
    assert found.returncode == 1
    assert "Traceback" not in found.stderr
    assert "PAL-504" in found.stderr or words[-1] == "--json"


def _locked_out(folder: Path, root: Path, parts: Sequence[str], names: Sequence[str]) -> None:
    bare = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    if bare and shutil.which("setpriv") is None:
        pytest.skip("root writes everywhere, and cannot be less than root without setpriv")
    given = [",".join(parts), ",".join(names)]
    found = subprocess.run(
        [*bare, sys.executable, "-m", "tests.support.no_room", str(folder), *given],
        capture_output=True,
        text=True,
        cwd=root,
        timeout=500,
    )
    assert found.returncode == 0, found.stderr
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(lines) == len(parts) * len(names)
    for how, name, code, said, again, said_then in lines:
        case = f"{name} without the right to write to {how}: {code} {said}"
        assert code in {0, 1, 3}, case
        assert code == 0 or any(c in said for c in CODES), case
        if code != 0:
            assert again == 0, f"{case}; then: {said_then}"
    assert any(line[2] != 0 for line in lines)


@pytest.mark.long
def test_a_right_that_is_lacking(tmp_path: Path, root: Path) -> None:
    _locked_out(tmp_path, root, ("segments", "private"), ("flush", "erase run"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_command_without_the_right_to_write(tmp_path: Path, root: Path) -> None:
    _locked_out(tmp_path, root, PARTS, tuple(COMMANDS))


WRITES = (
    "INSERT INTO more VALUES (1, 'a')",
    "INSERT INTO more SELECT i, 'x' FROM range(60000) r(i)",
    "CREATE TABLE third (a INTEGER PRIMARY KEY)",
    "CALL system.flush('more')",
    "PLACE HOLD ON people REASON 'x'",
    "ERASE FROM people WHERE id = 77",
    "CALL system.compact('people')",
)


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="palimpsest-vanished-") as folder:
        Path(folder, "template").mkdir()
        make(Path(folder, "template"))
        yield Path(folder, "template")


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_warehouse_that_vanishes_while_it_is_open(
    template: Path, tmp_path: Path, is_moved: bool
) -> None:
    copied(template, tmp_path)
    root = tmp_path / "w"
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as connection:
        connection.execute("SET job_engine = 'local'")
        connection.execute("INSERT INTO more VALUES (0, 'the log is open')")
        if is_moved:
            root.rename(tmp_path / "elsewhere")
        else:
            shutil.rmtree(root)
        for sql in WRITES:
            with pytest.raises(gateway.OperationalError) as raised:
                connection.execute(sql)
            assert raised.value.code in {"PAL-503", "PAL-504", "PAL-507"}, sql
        assert not root.exists(), "nothing is written where nobody would find it"
    if is_moved:
        (tmp_path / "elsewhere").rename(root)
        with gateway.connect(f"palimpsest:///{root}", autocommit=True) as connection:
            found = connection.execute("SELECT v FROM more WHERE id >= 0").fetchall()
            assert found == [("the log is open",)]
            connection.execute(WRITES[0])


@pytest.mark.first(2)
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("part", ["main", "main/people_journal", "_palimpsest/erasure"])
def test_a_part_of_it_that_vanishes(
    template: Path, tmp_path: Path, part: str, is_open: bool
) -> None:
    copied(template, tmp_path)
    root = tmp_path / "w"
    # Where it was copied to, its views are made anew.
    gateway.connect(f"palimpsest:///{root}").close()
    if not is_open:
        shutil.rmtree(root / part)
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as connection:
        connection.execute("SET job_engine = 'local'")
        if is_open:
            shutil.rmtree(root / part)
        for sql in (
            "SELECT count(*) FROM people",
            "UPDATE people SET day = day + 1",
            "CALL system.compact('people')",
            "CALL system.purge('people')",
        ):
            with pytest.raises(gateway.OperationalError) as raised:
                connection.execute(sql).fetchall()
            assert raised.value.code in {"PAL-503", "PAL-507", "PAL-701"}, sql
        connection.execute("INSERT INTO more VALUES (1, 'other tables go on')")


def test_what_the_system_says() -> None:
    full, locked = (OSError(n, os.strerror(n), "/x") for n in (errno.ENOSPC, errno.EACCES))
    for error, code in ((full, Code.STORE_WRITE), (locked, Code.FILE_ACCESS)):
        found = coded(error)
        assert found is not None
        assert (found.code, "/x" in found.message, bool(found.advice)) == (code, True, True)
    assert coded(ValueError("a defect")) is None
    refused = duckdb.TransactionException("Failed to commit: No space left on device")
    assert translate(refused).code is Code.STORE_WRITE, "to try it again at once would not help"
    packed = (
        'Async write failed: {"exception_type":"IO","exception_message":"No space left: \\"a\\""}'
    )
    assert translate(duckdb.IOException(packed)).message == 'No space left: "a"'
