"""Commands work on a warehouse that another program has open."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from tests.sharing.programs import Program

pytestmark = pytest.mark.usefixtures("commands")
_MAIN = "from gateway.cli import main; main()"


def run(root: Path, *words: str, cwd: Path | None = None, text: str = "") -> tuple[int, str]:
    """Exit code and standard output of a command; a failure shows what it wrote to stderr."""
    done = subprocess.run(
        ["palimpsest", *words, "-w", str(root)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        input=text,
    )
    return done.returncode, done.stdout or done.stderr


@pytest.mark.long
def test_six_queries_at_once_on_a_folder_that_nobody_has_open(root: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        calls = [
            pool.submit(run, root, "query", "--format", "csv", f"INSERT INTO t VALUES ({n}, 'q')")
            for n in range(10, 16)
        ]
        assert [call.result()[0] for call in calls] == [0] * 6
    code, said = run(root, "query", "--format", "csv", "SELECT count(*) AS n FROM t")
    assert (code, said.split()) == (0, ["n", "8"])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_each_command_works_beside_an_owner(root: Path, owner: Connection, tmp_path: Path) -> None:
    owner.execute("ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'b')")
    (tmp_path / "more.csv").write_text("a,b\n3,z\n4,w\n")
    assert run(root, "import", "more.csv", "t", cwd=tmp_path)[0] == 0
    assert run(root, "flush", "t")[0] == 0
    for kind in ("compact", "verify", "backup", "vacuum"):
        code, said = run(root, "job", kind, "t", "--json")
        assert code == 0, said
        assert json.loads(said)[0]["state"] in {"SUCCEEDED", "NOTHING"}
    assert run(root, "verify")[0] == 0
    assert run(root, "log", "t", "--limit", "1", "--json")[0] == 0
    assert run(root, "preview", "UPDATE t SET b = 'v' WHERE a = 1")[0] == 0
    code, said = run(root, "erase", "submit", "--subject", "b=w", "--json")
    assert code == 0, said
    code, said = run(root, "erase", "run", "--engine", "local", "--json")
    assert code == 0, said
    assert json.loads(said)[0]["state"] == "COMPLETED"
    assert run(root, "erase", "list", "--json")[0] == 0
    assert run(root, "audit", "verify")[0] == 0
    assert run(root, "hold", "list")[0] == 0
    assert run(root, "scheduler", "--once", "--json")[0] == 0
    assert run(root, "export", "t", "out.parquet", cwd=tmp_path)[0] == 0
    assert (tmp_path / "out.parquet").is_file()
    assert run(root, "export", "t", "out.csv", cwd=tmp_path)[0] == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 4
    code, said = run(
        root, "shell", text="\\d t\nSELECT count(*) FROM t;\n\\preview DELETE FROM t;\n"
    )
    assert code == 0, said
    assert "Primary key: a" in said
    assert run(root, "eject", "t", "--to", "left", cwd=tmp_path)[0] == 0
    assert (tmp_path / "left" / "t_history.parquet").is_file()
    assert run(root, "adopt", "u", "--key", "a", "--from", "left/t.parquet", cwd=tmp_path)[0] == 0
    assert owner.execute("SELECT a FROM u ORDER BY a").fetchall() == [(1,), (2,), (3,)]


def test_entities_are_declared_beside_an_owner(
    root: Path, owner: Connection, tmp_path: Path
) -> None:
    dataset = "kind: dataset\nname: {0}\ntable: {0}\nevery: 1 day\nstart: 2024-01-01\n"
    (tmp_path / "all.yaml").write_text(f"{dataset.format('t')}---\n{dataset.format('lost')}")
    code, said = run(root, "entity", "submit", str(tmp_path / "all.yaml"), "--json")
    found = json.loads(said)
    assert (code, found["state"]) == (1, "PARTIAL")
    assert found["results"][1]["error"]["code"] == "PAL-201"
    assert owner.execute("SELECT name FROM system.entities").fetchall() == [("t",)]
    assert json.loads(run(root, "entity", "list", "--json")[1])[0]["name"] == "t"


@pytest.mark.timeout(120)
def test_a_job_s_work_on_files_is_done_by_the_program_that_asked(
    root: Path, owner: Connection
) -> None:
    code = """
import threading
from spark_compaction.engines import local
run = local.LocalEngine.map
here = []
def counted(self, function, units, progress):
    here.append(function)
    return run(self, function, units, progress)
local.LocalEngine.map = counted
from gateway.jobs.runs import run_named
connection.execute("INSERT INTO t SELECT x, 'n' FROM range(100, 5000) r(x)")
connection.execute("CALL system.flush('t')")
connection.execute("DELETE FROM t WHERE a > 200")
connection.execute("CALL system.flush('t')")
runs = connection.client_session.perform(run_named, "compact", {}, ["t"])
found["value"] = [runs[0].state, len(here) > 0]
"""
    with Program(root) as other:
        assert other.ask("python", code) == ["SUCCEEDED", True]
        assert owner.execute("SELECT count(*) FROM t").fetchone() == (103,)


@pytest.mark.long
def test_a_scheduler_works_through_the_owner(root: Path, owner: Connection) -> None:
    owner.execute("INSERT INTO t VALUES (3, 'z')")
    process = subprocess.Popen(
        [sys.executable, "-c", _MAIN, "scheduler", "--check", "1", "-w", str(root)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("Running")
    time.sleep(3)
    assert owner.execute("SELECT count(*) FROM t").fetchone() == (3,)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
