"""Folders of jobs: whoever is taken for dead finds nowhere to write, whatever it was at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from journal.files.staging import attempt, attempt_id, close_folder, open_folders, remove_folder
from journal.model.errors import Code, PalimpsestError
from journal.stores.embedded.recovery import unlisted_files
from journal.stores.embedded.scratch_folders import sweep
from tests.support.client import Client


def _everything(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*"))


def _copy(target: Path, part: str = "part") -> None:
    """What units do: DuckDB makes the folder it is to write into, if it is not there."""
    duckdb.connect().execute(
        f"COPY (SELECT 1 AS k) TO '{target}' (FORMAT parquet, ROW_GROUPS_PER_FILE 1,"
        f" FILENAME_PATTERN '{part}_{{i}}', OVERWRITE_OR_IGNORE true)"
    )


def test_files_of_an_attempt_move_up_together(tmp_path: Path) -> None:
    open_folders(tmp_path, ["s/t/a"])
    with attempt(tmp_path, "s/t/a") as place:
        _copy(tmp_path / place, f"part_{attempt_id(place)}")
        (tmp_path / place / "filters.bloom").touch()
        assert [p.name for p in (tmp_path / "s/t/a").iterdir()] == ["open"]
    close_folder(tmp_path, "s/t/a")
    names = {p.name for p in (tmp_path / "s/t/a").iterdir()}
    assert names == {f"part_{attempt_id(place)}_0.parquet", "filters.bloom"}


@pytest.mark.parametrize("ended", [close_folder, lambda root, name: remove_folder(root / name)])
@pytest.mark.parametrize("at", ["begin", "write", "move"])
def test_an_attempt_that_outlives_its_job_leaves_nothing(
    tmp_path: Path, ended: Callable[[Path, str], None], at: str
) -> None:
    open_folders(tmp_path, ["s/t/a"])

    def end(step: str) -> None:
        if step == at:
            ended(tmp_path, "s/t/a")

    def work() -> None:
        end("begin")
        with attempt(tmp_path, "s/t/a") as place:
            end("write")
            _copy(tmp_path / place)
            end("move")

    with pytest.raises((PalimpsestError, duckdb.IOException)) as raised:
        work()
    if isinstance(raised.value, PalimpsestError):
        assert raised.value.code is Code.JOB_FAILED
    left = ["s", "s/t", "s/t/a"] if ended is close_folder else ["s", "s/t"]
    assert _everything(tmp_path) == left


def test_nothing_is_left_however_many_write_while_a_folder_goes(tmp_path: Path) -> None:
    for _ in range(20):
        open_folders(tmp_path, ["s/t/a"])
        begun = threading.Semaphore(0)

        def write(begun: threading.Semaphore = begun) -> None:
            for number in range(200):
                try:
                    with attempt(tmp_path, "s/t/a") as place:
                        (tmp_path / place / f"part_{number}").touch()
                        begun.release()
                except (PalimpsestError, FileNotFoundError):
                    return

        writers = [threading.Thread(target=write) for _ in range(4)]
        for writer in writers:
            writer.start()
        begun.acquire()
        remove_folder(tmp_path / "s/t/a")
        for writer in writers:
            writer.join()
        assert _everything(tmp_path) == ["s", "s/t"]


def test_the_sweep_leaves_alone_what_runs(run: Client) -> None:
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    run("INSERT INTO t VALUES (1)")
    run("CALL system.flush('t')")
    journal = run.connection.session.journal
    open_folders(run.root, ["main/t_journal/runs", "main/t_journal/died"])
    journal.staged.add("main/t_journal/runs")
    for name in ("runs", "died"):
        with attempt(run.root, f"main/t_journal/{name}") as place:
            (run.root / place / f"{name}.parquet").touch()
        half = run.root / "main/t_journal" / name / "open" / "half"
        half.mkdir()
        (half / "half.parquet").touch()
    (run.root / "main/t_journal/left.gone").mkdir()
    assert unlisted_files(journal) == [
        "main/t_journal/died/died.parquet",
        "main/t_journal/died/open/half/half.parquet",
    ]
    sweep(journal)
    assert (run.root / "main/t_journal/runs/open/half/half.parquet").exists()
    assert unlisted_files(journal) == ["main/t_journal/died/died.parquet"]
    assert not (run.root / "main/t_journal/left.gone").exists()


def test_a_start_removes_what_executors_were_writing(connect: Callable[..., Client]) -> None:
    run = connect()
    run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    run("INSERT INTO t VALUES (1)")
    run("CALL system.flush('t')")
    (listed,) = run.files()
    run.close()
    open_folders(run.root, ["main/t_journal/died"])
    half = run.root / "main/t_journal/died/open/half"
    half.mkdir()
    (half / "half.parquet").touch()
    (listed.parent / "open" / "late").mkdir(parents=True)
    run = connect()
    assert run.files() == [listed]
    assert [p for p in _everything(run.root / "main") if "open" in p or "died" in p] == []
    assert run("SELECT k FROM t") == [(1,)]
