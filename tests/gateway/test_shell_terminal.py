"""The shell at a real (pseudo-)terminal: prompt, several lines, completion, Ctrl-C, Ctrl-D."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

import gateway
from gateway.shell.backslash import COMMANDS
from tests.conftest import ROOT
from tests.support.process_time import await_work

PATIENCE_S = 30
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")


class Terminal:
    """A shell with a person at it.

    The shell is a process of the session's ``commands``, or begins anew where there are none.
    """

    def __init__(self, commands: Path | None, root: Path, history: Path, **settings: str) -> None:
        self._master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
        environment = {
            **os.environ, "PALIMPSEST_HISTORY": str(history), "PYTHONPATH": str(ROOT),
            "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "PAGER": "", **settings,
        }  # fmt: skip
        environment.pop("COLUMNS", None)
        cold = [sys.executable, "-m", "gateway.cli"]
        self.process = subprocess.Popen(
            [*(cold if commands is None else [commands / "palimpsest"]), "shell", str(root)],
            stdin=slave, stdout=slave, stderr=slave, env=environment, close_fds=True,
            preexec_fn=None if commands else lambda: _control(slave),  # noqa: PLW1509 - one thread
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def send(self, text: str) -> None:
        """Type."""
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> str:
        """What is written until ``text`` appears."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            assert time.monotonic() < deadline, f"no {text!r} in {self.seen!r}"
            self._read(0.2)
        before, _, self.seen = self.seen.partition(text)
        return before

    def _read(self, wait_s: float) -> None:
        ready, _, _ = select.select([self._master], [], [], wait_s)
        if not ready:
            return
        try:
            piece = os.read(self._master, 65536).decode(errors="replace")
        except OSError:
            return
        self.seen += _ESCAPES.sub("", piece)

    def close(self) -> None:
        """Go away."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def left(self) -> int:
        """The exit code, once the shell has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"still there: {self.seen!r}"
            self._read(0.1)
        return self.process.returncode


def _control(terminal: int) -> None:
    """Make the terminal the one whose Ctrl-C reaches the process."""
    os.setsid()
    ioctl(terminal, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal(commands: Path, tmp_path: Path) -> Iterator[Terminal]:
    """A shell on a new warehouse, at its first prompt."""
    with contextlib.closing(_at_prompt(commands, tmp_path)) as opened:
        yield opened


def _at_prompt(commands: Path | None, folder: Path) -> Terminal:
    opened = Terminal(commands, folder / "w", folder / "history")
    opened.wait_for("to leave.")
    opened.wait_for("w> ")
    return opened


def test_a_statement_may_take_several_lines(terminal: Terminal) -> None:
    terminal.send("select 40 + 2\r")
    terminal.wait_for("-> ")
    terminal.send("as answer;\r")
    terminal.wait_for("(1 row)")
    terminal.wait_for("w> ")
    terminal.send("\x04")
    assert terminal.left() == 0


def test_the_prompt_shows_the_transaction(terminal: Terminal) -> None:
    terminal.send("begin;\r")
    terminal.wait_for("w*> ")
    terminal.send("select * from nix;\r")
    terminal.wait_for("PAL-201")
    terminal.wait_for("^")
    terminal.wait_for("w!> ")
    terminal.send("rollback;\r")
    terminal.wait_for("w> ")


def test_ctrl_c_clears_the_line_and_stays(terminal: Terminal) -> None:
    terminal.send("select nonsense")
    terminal.wait_for("nonsense")
    terminal.send("\x03")
    terminal.wait_for("w> ")
    terminal.send("select 6 * 7 as n;\r")
    terminal.wait_for("(1 row)")


@pytest.mark.long
def test_ctrl_c_stops_the_statement_and_not_the_shell(tmp_path: Path) -> None:
    slow = (
        "select count(*) as n from range(3000000000) a, range(1000) b where a.range + b.range < 0;"
    )
    with contextlib.closing(_at_prompt(None, tmp_path)) as terminal:
        terminal.send(slow + "\r")
        # What comes before the query takes less.
        await_work(terminal.process.pid, 2)
        terminal.wait_for(" s; Ctrl-C stops it")
        terminal.send("\x03")
        terminal.wait_for("PAL-407 (57014): the statement was cancelled")
        terminal.wait_for("w> ")
        terminal.send("select 6 * 7 as n;\r")
        terminal.wait_for("(1 row)")


def test_tab_completes_tables(terminal: Terminal) -> None:
    terminal.send("create table departments (deptno int primary key);\r")
    terminal.wait_for("CREATE TABLE")
    terminal.wait_for("w> ")
    terminal.send("select * from dep")
    time.sleep(0.5)
    terminal.send("\t")
    terminal.wait_for("artments")
    terminal.send(";\r")
    terminal.wait_for("(0 rows)")


def test_leaving_with_an_open_transaction_says_what_becomes_of_it(terminal: Terminal) -> None:
    terminal.send("create table t (a int); begin; insert into t values (1);\r")
    terminal.wait_for("w*> ")
    terminal.send("\\q\r")
    terminal.wait_for("rolled back")
    assert terminal.left() == 0


def test_history_is_kept(commands: Path, tmp_path: Path) -> None:
    history = tmp_path / "history"
    opened = Terminal(commands, tmp_path / "w", history)
    opened.wait_for("w> ")
    opened.send("select 1 as remembered;\r")
    opened.wait_for("(1 row)")
    opened.wait_for("w> ")
    opened.send("\x04")
    assert opened.left() == 0
    opened.close()
    assert "remembered" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


def test_commands_work_between_the_lines_of_a_statement(terminal: Terminal) -> None:
    terminal.send("select 40\r")
    terminal.wait_for("-> ")
    terminal.send("\\echo between\r")
    terminal.wait_for("between\n")
    terminal.wait_for("w> ")
    terminal.send("+ 2 as answer;\r")
    terminal.wait_for("42")
    terminal.send("select 1\r")
    terminal.wait_for("-> ")
    terminal.send("\\q\r")
    assert terminal.left() == 0


def test_the_shell_asks_before_every_row_ends(terminal: Terminal) -> None:
    terminal.send("create table t (a int); insert into t values (1), (2);\r")
    terminal.wait_for("INSERT 2")
    terminal.wait_for("w> ")
    terminal.send("delete from t;\r")
    terminal.wait_for("it ends every row of t. Run it? [y/N]")
    terminal.send("n\r")
    terminal.wait_for("Not run.")
    terminal.wait_for("w> ")
    terminal.send("delete from t;\r")
    terminal.wait_for("[y/N]")
    terminal.send("y\r")
    terminal.wait_for("DELETE 2")
    terminal.wait_for("w> ")
    terminal.send("exit\r")
    assert terminal.left() == 0


_TYPED = [
    ("\\d t", "Primary key: a"),
    ("\\dt", "main"),
    ("\\dv", "main"),
    ("\\dm", "row"),
    ("\\di", "row"),
    ("\\ds", "row"),
    ("\\df", "row"),
    ("\\dT", "row"),
    ("\\dn", "main"),
    ("\\l", "Warehouse: "),
    ("\\du", "row"),
    ("\\dp", "row"),
    ("\\conninfo", "You are connected to"),
    ("\\c", "You are connected to"),
    ("\\z", "row"),
    ("select 4 * 5 \\g", "20"),
    ("select 4 * 6 as n \\gx", "24"),
    ("select 4 * 7 as n \\gset", "w> "),
    ("\\echo :n", "28"),
    ("select 'select 4 * ' || 8 \\gexec", "32"),
    ("select 4 * 9 as n \\gdesc", "INTEGER"),
    ("select 'r1' as r, 'h1' as h, 90 + 3 as d \\crosstabview", "r1 │ 93"),
    ("\\if off", "w@> "),
    ("select 90 + 4;", "A statement is passed over"),
    ("\\elif false", "w@> "),
    ("\\else", "w> "),
    ("select 90 + 5;", "95"),
    ("\\endif", "w> "),
    ("select 50 - 1 \\watch 0.01 c=2", "49"),
    ("\\p", "select 50"),
    ("\\r", "w> "),
    ("\\s", "conninfo"),
    ("\\preview select a from t", "nothing is uncompacted"),
    ("\\timing on", "iming"),
    ("\\timing off", "iming"),
    ("\\x auto", "w> "),
    ("\\pset", "expanded   auto"),
    ("\\set m 5", "w> "),
    ("\\unset m", "w> "),
    ("\\prompt Number k", "w> "),
    ("\\qecho q1q", "q1q"),
    ("\\warn w1w", "w1w"),
    ("\\! echo $((40 + 11))", "51"),
    ("\\cd .", "w> "),
    ("\\w typed.sql", "w> "),
    ("\\o out.txt", "w> "),
    ("\\o", "w> "),
    ("\\i script.sql", "61"),
    ("\\copy t to 'out.csv'", "row"),
    ("\\copy t from 'in.csv'", "row"),
    ("\\copy (select 60 + 2) to stdout", "62"),
    ("\\e script.sql", "61"),
    ("\\sv v", "CREATE OR REPLACE VIEW"),
    ("\\sf m", "AS x + 1"),
    ("\\ev v", "w> "),
    ("\\ef m", "w> "),
    (".tables", "table"),
    (".tabels", "did you mean .tables?"),
    (".mode csv", "format is csv."),
    (".mode duckbox", "format is table."),
    ("\\h delete", "DELETE FROM"),
    ("\\?", "leave"),
]


@pytest.mark.long
def test_each_command_works_at_the_prompt(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "script.sql").write_text("select 60 + 1;\n")
    (tmp_path / "in.csv").write_text("a\n7\n")
    monkeypatch.chdir(tmp_path)
    opened = Terminal(commands, tmp_path / "w", tmp_path / "history", EDITOR="true", VISUAL="true")
    try:
        opened.wait_for("w> ")
        opened.send("create table t (a int primary key); create view v as select 1 as b;\r")
        opened.wait_for("CREATE VIEW")
        opened.wait_for("w> ")
        opened.send("create macro m(x) as x + 1;\r")
        opened.wait_for("CREATE MACRO")
        opened.wait_for("w> ")
        for place, (typed, answer) in enumerate(_TYPED):
            opened.send(f"{typed}\r")
            if typed.startswith("\\prompt"):
                opened.wait_for("\nNumber")
                opened.send("9\r")
            before = "" if answer == "w> " else opened.wait_for(answer)
            if answer == "w@> " or "passed over" in answer:
                # Nothing would echo here.
                continue
            opened.send(f"\\echo end {place}\r")
            before += opened.wait_for(f"\nend {place}")
            assert "ERROR PAL" not in before, (typed, before)
        opened.send("exit now;\r")
        opened.wait_for("To leave, write exit")
        opened.send("\\q\r")
        assert opened.left() == 0
    finally:
        opened.close()
    told = (ROOT / "docs" / "shell.md").read_text().partition("The shell lacks")[0]
    listed = re.findall(r"`(\\[a-zA-Z!?]+)", told)
    rest = " ".join(typed for typed, _ in _TYPED) + r" \q \password"
    assert len(set(listed)) > len(COMMANDS) - 3
    assert [name for name in set(listed) if f"{name} " not in f"{rest} "] == []


def test_a_long_result_goes_through_the_pager(commands: Path, tmp_path: Path) -> None:
    opened = Terminal(
        commands, tmp_path / "w", tmp_path / "history", PAGER="wc -l | sed 's/$/ lines paged/'"
    )
    try:
        opened.wait_for("w> ")
        opened.send("select * from range(50);\r")
        opened.wait_for("53 lines paged")
        opened.wait_for("w> ")
        opened.send("select 1 as short;\r")
        opened.wait_for("(1 row)")
    finally:
        opened.close()


def test_a_password_is_typed_twice_and_unseen(terminal: Terminal) -> None:
    terminal.send("create role ada login password 'first';\r")
    terminal.wait_for("CREATE ROLE")
    for again, said in (("other", "nothing was changed"), ("geheim", "of ada is changed.")):
        terminal.send("\\password ada\r")
        seen = terminal.wait_for('for role "ada": ')
        terminal.send("geheim\r")
        seen += terminal.wait_for("Enter it again: ")
        terminal.send(f"{again}\r")
        seen += terminal.wait_for(said)
        assert "geheim" not in seen
        assert "other" not in seen
    terminal.wait_for("w> ")


def test_ctrl_c_leaves_a_condition_and_a_watch(terminal: Terminal) -> None:
    terminal.send("select 1\\if off\r")
    terminal.wait_for("w@> ")
    terminal.send("\x03")
    terminal.wait_for("w> select 1")
    terminal.send(" + 1 as n \\watch 0.05 c=2\r")
    terminal.wait_for("(1 row)")
    terminal.wait_for("(1 row)")
    terminal.wait_for("w> ")
    terminal.send("\\watch 60\r")
    terminal.wait_for("(1 row)")
    time.sleep(1)  # Between two statements, where there is nothing to cancel.
    terminal.send("\x03")
    seen = terminal.wait_for("w> ")
    assert "cancelled" not in seen
    terminal.send("select 40 + 2;\r")
    terminal.wait_for("42")


def test_the_shell_goes_on_with_another_warehouse(commands: Path, tmp_path: Path) -> None:
    rc = tmp_path / "shellrc"
    rc.write_text("\\set day 4\n\\timing on\nnot a command;\n")
    opened = Terminal(commands, tmp_path / "w", tmp_path / "history", PALIMPSEST_SHELLRC=str(rc))
    try:
        opened.wait_for("Timing is on.")
        opened.wait_for("ERROR PAL-101")
        opened.wait_for("w> ")
        opened.send("select :day * 10 as n;\r")
        opened.wait_for("40")
        opened.send("create table t (a int primary key); begin; insert into t values (1);\r")
        opened.wait_for("w*> ")
        opened.send(f"\\c {tmp_path}/other\r")
        opened.wait_for("COMMIT or ROLLBACK first")
        opened.send("rollback;\r")
        opened.wait_for("ROLLBACK")
        opened.send(f"\\c {tmp_path}/other\r")
        opened.wait_for("there is no warehouse at")
        opened.wait_for("w> ")
        gateway.connect(f"palimpsest:///{tmp_path}/other").close()
        opened.send(f"\\c {tmp_path}/other\r")
        opened.wait_for("other> ")
        opened.send("\\dt\r")
        opened.wait_for("(0 rows)")
        opened.send(f".open {tmp_path}/w\r")
        opened.wait_for("w> ")
        opened.send("select count(*) + 30 as n from t;\r")
        opened.wait_for("30")
        opened.send("\\q\r")
        assert opened.left() == 0
    finally:
        opened.close()


def test_keys_of_vi(terminal: Terminal) -> None:
    terminal.send("\\set VI_KEYS on\r")
    terminal.wait_for("w> ")
    terminal.wait_for("w> ")
    terminal.send("selectt 20 + 2 as n;\x1b0ex$a\r")
    terminal.wait_for("22")
    terminal.send("\\q\r")
    assert terminal.left() == 0


def test_an_error_stops_what_was_sent_and_not_the_shell(terminal: Terminal) -> None:
    terminal.send("\\set ON_ERROR_STOP on\r")
    terminal.wait_for("w> ")
    terminal.wait_for("w> ")
    terminal.send("select 1/nix; select 60 + 6 as after;\r")
    terminal.wait_for("PAL-202")
    terminal.wait_for("w> ")
    terminal.send("select 6 * 7 as n;\r")
    assert "66" not in terminal.wait_for("42")
    terminal.send("exit\r")
    assert terminal.left() == 0
