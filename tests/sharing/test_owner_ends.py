"""What clients see of an owner that ends, is killed, or is stopped."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gateway
from gateway.config import Settings
from gateway.sharing import folder, wire
from gateway.sharing.messages import PROTOCOL, Failed, Hello
from gateway.sharing.remote import RemoteOwner
from gateway.version import VERSION
from journal.model.errors import Code, PalimpsestError
from tests.sharing.programs import Program
from tests.support.urls import url_of_folder
from tests.support.warm_python import warm_python

ROWS = "SELECT * FROM t ORDER BY a"


@pytest.mark.long
def test_nobody_notices_an_owner_that_ends(root: Path) -> None:
    with Program(root) as owner, Program(root) as one, Program(root) as two:
        assert (owner.kind, one.kind, two.kind) == ("Session", "RemoteSession", "RemoteSession")
        two.ask("execute", "SET timezone = 'Asia/Tokyo'")
        two.ask("execute", "PREPARE b_of AS SELECT b FROM t WHERE a = $1")
        assert owner.end() == 0
        assert one.ask("execute", "INSERT INTO t VALUES (3, 'z')")["count"] == 1
        assert two.rows(ROWS) == [[1, "x"], [2, "y"], [3, "z"]]
        assert two.rows("SHOW timezone") == [["Asia/Tokyo"]]
        assert two.rows("EXECUTE b_of (3)") == [["z"]]


@pytest.mark.long
def test_an_owner_serves_on_until_transactions_end(root: Path) -> None:
    with Program(root) as owner, Program(root, autocommit=False) as other:
        other.ask("execute", "UPDATE t SET b = 'kept' WHERE a = 1")
        ended = threading.Thread(target=owner.end)
        ended.start()
        time.sleep(1.5)
        assert ended.is_alive()
        assert other.rows("SELECT b FROM t WHERE a = 1") == [["kept"]]
        assert other.ask("commit") is None
        ended.join(60)
        assert owner.process.returncode == 0
        assert other.rows("SELECT b FROM t WHERE a = 1") == [["kept"]]


@pytest.mark.long
def test_ctrl_c_ends_an_owner_that_waits(root: Path) -> None:
    with Program(root) as owner, Program(root, autocommit=False) as other:
        other.ask("execute", "UPDATE t SET b = 'lost' WHERE a = 1")
        threading.Timer(2, lambda: owner.process.send_signal(signal.SIGINT)).start()
        owner.end()
        assert other.ask("commit")["sqlstate"] in {"08006", "08007"}
        assert other.rows("SELECT b FROM t WHERE a = 1") == [["x"]]


def test_statements_go_on_after_an_owner_was_killed(root: Path) -> None:
    with Program(root) as owner, Program(root) as other:
        other.ask("execute", "INSERT INTO t VALUES (3, 'z')")
        owner.kill()
        assert other.ask("execute", "INSERT INTO t VALUES (4, 'w')")["count"] == 1
        assert other.rows(ROWS) == [[1, "x"], [2, "y"], [3, "z"], [4, "w"]]


@pytest.mark.long
def test_an_open_transaction_is_lost_with_the_owner(root: Path) -> None:
    with Program(root) as owner, Program(root, autocommit=False) as other:
        other.ask("execute", "UPDATE t SET b = 'lost' WHERE a = 1")
        owner.kill()
        lost = other.ask("execute", "UPDATE t SET b = 'lost' WHERE a = 2")
        assert (lost["error"], lost["sqlstate"]) == ("PAL-531", "08006")
        other.ask("execute", "UPDATE t SET b = 'again' WHERE a = 1")
        assert other.ask("commit") is None
        assert other.rows(ROWS) == [[1, "again"], [2, "y"]]


@pytest.mark.parametrize("how", ["commit", "statement"])
def test_a_commit_in_doubt_can_be_looked_up(root: Path, how: str) -> None:
    with Program(root) as owner, Program(root, autocommit=False) as other:
        other.ask("execute", "UPDATE t SET b = 'doubt' WHERE a = 1")
        os.kill(owner.pid, signal.SIGSTOP)
        other.tell(*(["commit"] if how == "commit" else ["execute", "COMMIT", None]))
        time.sleep(0.5)
        owner.kill()
        doubt = other.answer()
        assert (doubt["error"], doubt["sqlstate"]) == ("PAL-525", "08007")
        name = doubt["message"].split("transaction ")[1].split()[0]
        query = "SELECT count(*) FROM system.transactions WHERE transaction_id = ?"
        ((count,),) = other.rows(query, [name])
        assert other.rows("SELECT b FROM t WHERE a = 1") == [["doubt" if count else "x"]]


@contextmanager
def _owner_that_dies_before_it_answers(root: Path) -> Iterator[subprocess.Popen[str]]:
    """An owner that ends between the commit of an INSERT and its answer."""
    script = f"""
import os, sys
import gateway
from gateway.sharing import served, wire
connection = gateway.connect({url_of_folder(root)!r}, autocommit=True)
send = wire.send
def die(peer, value):
    head = getattr(value, "value", None)
    if getattr(head, "tag", "") in ("INSERT", "SELECT"):
        os._exit(9)
    send(peer, value)
served.wire.send = die
print("ready", flush=True)
sys.stdin.read()
"""
    owner = subprocess.Popen(
        [warm_python(), "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "ready\n"
    yield owner
    owner.communicate()


def test_a_statement_that_was_committed_is_not_run_again(root: Path) -> None:
    inserts = "INSERT INTO t VALUES (3, 'z'); INSERT INTO t VALUES (4, 'w')"
    with _owner_that_dies_before_it_answers(root) as owner, Program(root) as other:
        assert other.ask("execute", inserts)["count"] == 1
        assert owner.wait(10) == 9
        assert other.rows(ROWS) == [[1, "x"], [2, "y"], [3, "z"], [4, "w"]]


@pytest.mark.parametrize(
    "insert",
    [
        "INSERT INTO t VALUES (3, 'z') RETURNING a",
        "WITH n AS (INSERT INTO t VALUES (3, 'z') RETURNING a) SELECT a FROM n",
    ],
)
def test_rows_of_a_statement_that_was_committed_are_lost_aloud(root: Path, insert: str) -> None:
    with _owner_that_dies_before_it_answers(root) as owner, Program(root) as other:
        other.tell("execute", insert, None)
        lost = other.answer()
        assert (lost["error"], lost["sqlstate"]) == ("PAL-533", "08007")
        assert owner.wait(10) == 9
        assert other.rows(ROWS) == [[1, "x"], [2, "y"], [3, "z"]]


@pytest.mark.long
def test_rows_of_a_lost_owner_are_not_taken_from_the_next(root: Path) -> None:
    code = """
import os, signal
from gateway.config import Settings
from gateway.sharing import folder, wire
from gateway.sharing.messages import PROTOCOL, Failed, Hello
from gateway.sharing.remote import RemoteOwner
from gateway.version import VERSION
from journal.model.errors import Code, PalimpsestError
first = connection.execute("SELECT x FROM range(100000) r(x)")
head = first.fetchmany(10)
os.kill(folder.owner_of(PLACE).pid, signal.SIGKILL)
second = connection.execute("SELECT -x FROM range(100000) r(x)")
try:
    found["value"] = len(first.fetchall())
except gateway.Error as error:
    found["value"] = [error.sqlstate, len(second.fetchall())]
"""
    with Program(root), Program(root) as other:
        place = f"from pathlib import Path\nPLACE = Path({str(root)!r})\n"
        assert other.ask("python", place + code) == ["08006", 100000]


@pytest.mark.long
def test_a_stopped_owner_is_reported(root: Path) -> None:
    with Program(root) as owner, Program(root) as other:
        os.kill(owner.pid, signal.SIGSTOP)
        try:
            with pytest.raises(gateway.OperationalError, match="is stopped") as fresh:
                gateway.connect(url_of_folder(root))
            assert fresh.value.code == "PAL-530"
            assert str(owner.pid) in str(fresh.value)
            assert other.ask("execute", "SELECT 1", None)["error"] == "PAL-530"
        finally:
            os.kill(owner.pid, signal.SIGCONT)
        assert other.rows("SELECT 1") == [[1]]
        assert owner.rows(ROWS) == [[1, "x"], [2, "y"]]


@pytest.mark.slow
def test_a_detached_owner_ends_when_nobody_needs_it(root: Path) -> None:
    with Program(root) as owner, Program(root) as other:
        owner.kill()
        assert other.rows("SELECT 1") == [[1]]
        detached = folder.owner_of(root)
        assert detached is not None
        assert detached.pid not in {owner.pid, other.pid}
        assert Path(f"/proc/{detached.pid}").exists()
    deadline = time.monotonic() + 90
    while Path(f"/proc/{detached.pid}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    with gateway.connect(url_of_folder(root)) as connection:
        assert connection.session.place == str(root)


def test_a_short_command_lets_long_programs_go_first(root: Path) -> None:
    lock = folder.claim(root, short=False)
    assert isinstance(lock, folder.OwnerLock)
    got: list[str] = []

    def wait(name: str, *, short: bool) -> None:
        found = folder.claim(root, short=short)
        got.append(name)
        time.sleep(0.3)
        assert isinstance(found, folder.OwnerLock)
        found.release()

    threads = [
        threading.Thread(target=wait, args=(name,), kwargs={"short": name == "short"})
        for name in ("short", "long")
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    lock.release()
    for thread in threads:
        thread.join()
    assert got == ["long", "short"]


def test_a_path_too_long_for_a_socket_has_a_coded_error(tmp_path: Path) -> None:
    root = tmp_path / ("long" * 25) / "wh"
    root.parent.mkdir()
    with Program(root) as owner:
        assert owner.kind == "Session"
        assert owner.ask("execute", "CREATE TABLE t (a INTEGER)")["count"] == -1
        with pytest.raises(gateway.OperationalError, match="path of its socket") as refused:
            gateway.connect(url_of_folder(root))
        assert (refused.value.code, refused.value.sqlstate) == ("PAL-532", "55006")


def test_a_refusal_is_heard_when_its_owner_has_hung_up_already(tmp_path: Path) -> None:
    """It looks at the user of a connection before it reads anything, so it may be the faster."""
    ours, theirs = socket.socketpair()
    wire.send(theirs, Failed.of(PalimpsestError(Code.NOT_SHARED, "no", advice="-"), None))
    theirs.close()
    hello = Hello(PROTOCOL, VERSION, "duckdb", True, None, None, Settings(), "/", "UTC")
    with pytest.raises(PalimpsestError, match="no"):
        RemoteOwner(tmp_path, hello, ours)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused(root: Path) -> None:
    for path in [root, *root.parents]:
        if path.stat().st_uid == os.geteuid() and path != Path("/"):
            # What else it allows stays: a folder for everybody's scratch files is among them.
            path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o055)
    script = f"""
import os
import gateway
gateway.connect("palimpsest://").close()  # Loads all that the other user may not be able to read.
os.setuid(65534)
try:
    gateway.connect({url_of_folder(root)!r})
except gateway.Error as error:
    print(error.code)
"""
    with Program(root) as owner:
        assert owner.kind == "Session"
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd="/"
        )
    assert done.stdout.strip() == "PAL-532", done.stderr


@pytest.mark.long
def test_an_owner_that_is_about_to_end_serves_statements_whole(root: Path) -> None:
    """A script that ends without a word: the interpreter is ending while it serves."""
    script = f"""
import sys
import gateway
connection = gateway.connect({url_of_folder(root)!r}, autocommit=True)
print("open", flush=True)
sys.stdin.readline()
"""
    command = [sys.executable, "-c", script]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "open\n"
        with Program(root, autocommit=False) as other:
            other.ask("execute", "UPDATE t SET b = 'kept' WHERE a = 1")
            assert owner.stdin is not None
            owner.stdin.close()
            time.sleep(0.5)
            assert owner.poll() is None
            # So many rows are written by threads of a pool.
            many = "INSERT INTO t SELECT x + 10, 'r' FROM range(300000) AS r(x)"
            assert other.ask("execute", many)["count"] == 300000
            other.ask("commit")
        assert owner.wait(timeout=30) == 0


@pytest.mark.long
def test_threads_of_a_program_work_on_after_its_main_thread(root: Path) -> None:
    script = f"""
import threading, time
import gateway
connection = gateway.connect({url_of_folder(root)!r}, autocommit=True)
def work():
    time.sleep(1)
    connection.execute("INSERT INTO t VALUES (3, 'late')")
threading.Thread(target=work).start()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    with gateway.connect(url_of_folder(root)) as connection:
        assert connection.execute("SELECT b FROM t WHERE a = 3").fetchall() == [("late",)]
