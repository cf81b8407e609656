"""Temporary folders of processes that are killed: removed by the next one, never of the living."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from journal.erasure.erasure_spec import requests
from journal.erasure.requests import State
from journal.local_engine.database_file import DuckDBStore
from journal.local_engine.scratch import Scratch, scratch, sweep_scratch
from journal.model.errors import PalimpsestError
from spark_compaction.backends.embedded_erasure import completion
from tests.support.client import Client
from tests.support.warm_python import warm_python

_HOLDS = """
import sys, time
from pathlib import Path
from journal.erasure.requests import State
from journal.erasure.erasure_spec import requests
from journal.local_engine.scratch import Scratch
made = Scratch(Path(sys.argv[1]))
(made.path / "deep").mkdir()
(made.path / "deep" / "rows").write_text("a person")
print(made.path, flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path, root: Path) -> subprocess.Popen[str]:
    """A process that holds a folder with rows in it."""
    command = [sys.executable, "-c", _HOLDS, str(tmp_path)]
    child = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert "palimpsest-scratch-" in child.stdout.readline()
    return child


def _kill(child: subprocess.Popen[str]) -> None:
    child.kill()
    assert child.wait() == -signal.SIGKILL
    assert child.stdout is not None
    child.stdout.close()


def _left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob("palimpsest-*"))


def test_folders_of_the_dead_are_swept(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    assert sweep_scratch(tmp_path) == []
    assert len(_left(tmp_path)) == 1
    _kill(holder)
    assert len(_left(tmp_path)) == 1
    made = Scratch(tmp_path)
    assert _left(tmp_path) == [made.path.name]
    made.close()
    made.close()
    assert _left(tmp_path) == []


def test_a_folder_that_was_being_removed_is_removed(tmp_path: Path) -> None:
    half = tmp_path / "palimpsest-scratch-half"
    half.mkdir()
    (half / "rows").touch()
    assert sweep_scratch(tmp_path) == []
    assert _left(tmp_path) == []


def test_what_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = tmp_path / "palimpsest-scratch-held"
    held.mkdir()
    monkeypatch.setattr("journal.local_engine.scratch.shutil.rmtree", lambda *_, **__: None)
    assert sweep_scratch(tmp_path) == [held]


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    aim = tmp_path / "precious"
    aim.mkdir()
    (aim / "rows").touch()
    (tmp_path / "palimpsest-scratch-link").symlink_to(aim)
    assert sweep_scratch(tmp_path) == []
    assert (aim / "rows").exists()


def test_a_forked_child_removes_nothing(tmp_path: Path) -> None:
    made = Scratch(tmp_path)
    child = os.fork()
    if child == 0:
        made.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert made.path.is_dir()
    assert sweep_scratch(tmp_path) == []
    made.close()
    assert not made.path.exists()


def test_a_block_has_a_folder_that_goes_with_it() -> None:
    with scratch() as place:
        (place / "rows").touch()
        assert oct(place.stat().st_mode)[-3:] == "700"
    assert not place.exists()


_SPILLS = """
import os, signal, sys
from journal.model.plan import Query
from journal.files.staging import open_folders
from pathlib import Path
import sqlglot
root, unit = Path(sys.argv[1]), sys.argv[2]
rows = "SELECT i, 'person-' || hash(i) AS s FROM range(2000000) t(i) ORDER BY hash(i)"
if unit == "gateway":
    import gateway
    run = gateway.connect(f"palimpsest:///{root}?memory_limit=60MB&threads=1")
    with run.session.journal.reading_session() as found:
        found.stage("big", Query.of(sqlglot.parse_one(rows, read="duckdb")), {})
        os.kill(os.getpid(), signal.SIGKILL)
from journal.files.memory import memory_session
open_folders(root, ["main/t_journal/job"])
with memory_session(root, "main/t_journal/job", {"memory_limit": "60MB"}) as found:
    found.stage("big", Query.of(sqlglot.parse_one(rows, read="duckdb")), {})
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_of_its_own_is_swept_and_no_other(tmp_path: Path) -> None:
    given = tmp_path / "fast" / "disk"
    given.mkdir(parents=True)
    (given / "of others").touch()
    file = tmp_path / "x.duckdb"
    DuckDBStore(file, {}).close()
    default = tmp_path / "x.duckdb.tmp"
    for _ in range(2):
        default.mkdir(exist_ok=True)
        store = DuckDBStore(file, {"temp_directory": str(given)})
        with contextlib.closing(store):
            session = store.acquire()
            ((own,),) = session.text("SELECT current_setting('temp_directory')")
            assert Path(own).parent == given
            store.release(session)
            assert not default.exists()
            assert {p.name for p in given.iterdir()} == {"of others", Path(own).name}
            assert list(Path(own).iterdir()) == []
        Path(own).mkdir()
    with pytest.raises(PalimpsestError, match="temp_directory"):
        DuckDBStore(file, {"temp_directory": str(given / "of others" / "x")})


@pytest.mark.parametrize("killed", ["gateway", "unit"])
def test_what_the_killed_had_spilled_is_gone_with_the_next_start(
    connect: Callable[..., Client], root: Path, tmp_path: Path, killed: str
) -> None:
    run = connect()
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    run.close()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [warm_python(), "-c", _SPILLS, str(run.root), killed],
        cwd=root,
        capture_output=True,
        timeout=250,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert _holders(run.root) != []
    assert _holders(temporary) == []
    connect()
    assert _holders(run.root) == []


def _holders(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and b"person-" in p.read_bytes()]


def test_what_the_killed_left_is_gone_before_an_erasure_is_complete(
    run: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, who VARCHAR) WITH (erasure = 'who')")
    run("INSERT INTO t SELECT i, 'person-' || i FROM range(9) r(i)")
    run("CALL system.flush('t')")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = [
        run.root / "main" / "t_journal" / "died" / "open" / "unit.spilled" / "rows",
        run.root / "palimpsest.duckdb.tmp" / "duckdb_temp_1_0_storage_DEFAULT-0.tmp",
        tmp_path / "palimpsest-scratch-died" / "rows",
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("person-7")
    run("SET job_engine = 'local'")
    run("ERASE FROM t WHERE who = 'person-7'")
    run("CALL system.purge()")
    assert run("SELECT state FROM system.erasures") == [("COMPLETED",)]
    assert [p for p in left if p.exists()] == []


def test_an_erasure_waits_for_what_cannot_be_removed(
    run: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY, who VARCHAR) WITH (erasure = 'who')")
    run("INSERT INTO t VALUES (7, 'person-7')")
    held = tmp_path / "palimpsest-scratch-held"
    monkeypatch.setattr(completion, "sweep_scratch", lambda: [held])
    run("SET job_engine = 'local'")
    run("ERASE FROM t WHERE who = 'person-7'")
    run("CALL system.purge()")
    (found,) = requests(run.connection.session.journal)
    assert found.state is State.PURGED
    assert str(held) in found.waits_for
    monkeypatch.undo()
    run("CALL system.purge()")
    assert run("SELECT state FROM system.erasures") == [("COMPLETED",)]
