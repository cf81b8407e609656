"""Files of exports: a kill leaves none behind, and none outlives its time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.jobs.scheduler import Scheduler
from gateway.privacy_desk import questions, running
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.session.operations import no_progress
from journal.records import privacy_rows
from journal.records.privacy_rows import PrivacyExport
from tests.support.killed_step import run_killed

KILLS = {
    "before the copy is written": ("write_private", 0),
    "after the copy is written": ("write_private", 1),
    "after the old file is gone": ("put_export", 0),
}
PROGRAM = """
import os, signal, sys
import gateway
from gateway.privacy_desk import exports, questions
from gateway.session.operations import no_progress

root, request, target, name, after = sys.argv[1:]
step = getattr(exports, name)
calls = 0

def killed(journal, export, *given):
    global calls
    calls += 1
    if name == "put_export" and calls == 1:
        return step(journal, export, *given)
    if after == "1":
        step(journal, export, *given)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(exports, name, killed)
with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
    questions.export_of(con.session, no_progress, request, target)
"""


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(f"palimpsest:///{tmp_path}/warehouse", autocommit=True) as con:
        con.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)"
            " WITH (erasure = 'email LOWER')"
        )
        con.execute("INSERT INTO people VALUES (1, 'ada@x.example')")
        new = [NewRequest((("email", "ada@x.example"),), "T-1")]
        submit(con.session, no_progress, SubmissionTerms(PrivacyAction.ACCESS), new)
        running.run(con.session, no_progress)
        yield con


def _export(con: Connection) -> PrivacyExport:
    (export,) = questions.list_exports(con.session, no_progress)
    return export


@pytest.mark.parametrize("kill", KILLS)
def test_a_killed_move_goes_on_and_leaves_one_file(
    con: Connection, tmp_path: Path, kill: str
) -> None:
    export, target = _export(con), tmp_path / "for-ada.zip"
    con.close()
    name, after = KILLS[kill]
    words = [str(tmp_path / "warehouse"), export.request, str(target), name, str(after)]
    run_killed(PROGRAM, *words)
    with gateway.connect(f"palimpsest:///{tmp_path}/warehouse", autocommit=True) as again:
        moved = questions.export_of(again.session, no_progress, "T-1", str(target))
        assert (moved.path, moved.moved_from) == (str(target), None)
        assert target.stat().st_mode & 0o777 == 0o600
        assert target.stat().st_size == export.bytes
        assert not Path(export.path).exists()
        questions.export_of(again.session, no_progress, "T-1", None, gone=True)
        assert not target.exists()


def test_the_scheduler_removes_what_has_expired(con: Connection) -> None:
    export = _export(con)
    with con.session.journal.exclusive_session() as records:
        over = replace(export, expires_at=export.made_at - timedelta(days=1))
        privacy_rows.put_export(records, over)
        records.commit()
    assert Path(export.path).exists()
    Scheduler(lambda: con.session).once()
    assert not Path(export.path).exists()
    with con.session.journal.reading_session() as records:
        (row,) = privacy_rows.all_exports(records)
    assert row.removed_at is not None
