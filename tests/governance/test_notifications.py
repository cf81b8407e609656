"""Events as messages, to a real web hook and a real mail server of this process (F62 and F63)."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance.events import EventName, EventStatus, record_event
from gateway.notifications.channels import channels_of
from gateway.notifications.event_patterns import parse_patterns
from gateway.notifications.outbox import next_batch, take_batch
from gateway.notifications.sender import NotificationSender
from gateway.session.client_session import ClientSession
from gateway.session.operations import no_progress
from journal.model.errors import PalimpsestError
from journal.records.event_rows import EventRow
from journal.records.notification_rows import channel_row, put_channel
from tests.architecture.sources import ROOT
from tests.servers.conftest import launch
from tests.support.mail_server import mail_server
from tests.support.warm_python import warm_python
from tests.support.web_hook import web_hook

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WAIT_S = 30.0
ALL = parse_patterns("*")


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        yield con


def _record(con: Connection, name: EventName, entity: str, *, failed: bool = False) -> None:
    status = EventStatus.FAILED if failed else EventStatus.SUCCEEDED
    with con.session.journal.exclusive_session() as records:
        record_event(
            *(con.session, records, name, "process", entity),
            nominal=NOW,
            status=status,
            data={"log": "/var/log/x"},
        )
        records.commit()


@contextmanager
def _own(con: Connection) -> Iterator[ClientSession]:
    session = con.session.session_as(None)
    try:
        yield session
    finally:
        session.close()


@contextmanager
def _sending(con: Connection, tmp_path: Path, *urls: str, names: str = "*") -> Iterator[None]:
    file = tmp_path / "urls"
    file.write_text("# where to\n" + "\n".join(urls))
    channels, patterns = channels_of(file), parse_patterns(names)
    for channel in channels:
        # As if it had been there before what happens in the test.
        take_batch(con.session, no_progress, channel.name, "test", patterns, timedelta())
    sender = NotificationSender(
        partial(_own, con), channels, patterns, timedelta(), poll_s=0.05, first_wait_s=0.1
    )
    sender.start()
    try:
        yield
    finally:
        sender.close()


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def test_f63_a_web_hook_gets_each_event_once(con: Connection, tmp_path: Path) -> None:
    with web_hook() as hook:
        with _sending(con, tmp_path, hook.url, names="instance.run:FAILED, sla.*"):
            _record(con, EventName.INSTANCE_RUN, "daily", failed=True)
            _record(con, EventName.INSTANCE_RUN, "fine")
            _record(con, EventName.SLA_HIGH, "late")
            _until(lambda: sum(t["message"].count("\n") + 1 for t in hook.taken) >= 2)
        with _sending(con, tmp_path, hook.url, names="instance.run:FAILED, sla.*"):
            pass
    text = "\n".join(taken["message"] for taken in hook.taken)
    assert text.count("instance.run FAILED process daily of 2026-01-02T03:04Z by ") == 1
    assert text.count("sla.high SUCCEEDED process late") == 1
    assert "log: /var/log/x" in text
    assert "fine" not in text
    assert hook.taken[0]["type"] == "failure"


@pytest.mark.long
def test_f63_what_is_not_taken_is_sent_again_and_nothing_is_lost(
    con: Connection, tmp_path: Path
) -> None:
    with web_hook() as hook, web_hook() as other:
        hook.status = 503
        with _sending(con, tmp_path, hook.url, other.url):
            for number in range(5):
                _record(con, EventName.ENTITY_SUBMIT, f"p{number}")
            _until(lambda: "p4" in "".join(t["message"] for t in other.taken))
            hook.status = 200
            _until(lambda: "p4" in "".join(t["message"] for t in hook.taken))
    for found in (hook, other):
        text = "\n".join(taken["message"] for taken in found.taken)
        assert [text.count(f" p{number} ") for number in range(5)] == [1] * 5


def test_f62_mail_to_several_people(con: Connection, tmp_path: Path) -> None:
    with mail_server() as server:
        url = (
            f"mailto://127.0.0.1:{server.port}?from=ops@example.org&to=a@example.org,b@example.org"
        )
        with _sending(con, tmp_path, url):
            _record(con, EventName.INSTANCE_RUN, "daily")
            _until(lambda: len(server.mails) >= 2)
    assert sorted(r for recipients, _ in server.mails for r in recipients) == [
        "a@example.org",
        "b@example.org",
    ]
    assert "instance.run" in server.mails[0][1]


PROGRAM = """
import os, signal, sys
from pathlib import Path
from datetime import timedelta
from contextlib import contextmanager
import gateway
from gateway.notifications import sender
from gateway.notifications.channels import channels_of
from gateway.notifications.event_patterns import parse_patterns

root, urls = sys.argv[1:]

def killed(*given):
    os.kill(os.getpid(), signal.SIGKILL)

with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
    @contextmanager
    def own():
        yield con.session
    sender.finish_batch = killed
    made = sender.NotificationSender(own, channels_of(Path(urls)), parse_patterns("*"), timedelta())
    made._run()
"""


@pytest.mark.slow
def test_f63_killed_between_sending_and_noting_it_sends_again(tmp_path: Path) -> None:
    with web_hook() as hook:
        (tmp_path / "urls").write_text(hook.url)
        (channel,) = channels_of(tmp_path / "urls")
        with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
            take_batch(con.session, no_progress, channel.name, "test", ALL, timedelta())
            _record(con, EventName.ENTITY_SUBMIT, "p")
        words = [warm_python(), "-c", PROGRAM, str(tmp_path / "w"), str(tmp_path / "urls")]
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert len(hook.taken) == 1
        with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
            given = (channel.name, "other", ALL, timedelta())
            assert take_batch(con.session, no_progress, *given) is None
            with con.session.journal.exclusive_session() as records:
                row = channel_row(records, channel.name)
                assert row is not None
                assert row.owner is not None
                past = row.changed_at - timedelta(hours=1)
                put_channel(records, replace(row, claimed_until=past))
                records.commit()
            batch = take_batch(con.session, no_progress, *given)
            assert batch is not None
            assert [event.entity for event in batch.events] == ["p"]


@pytest.mark.slow
def test_serve_tells_what_happens(tmp_path: Path) -> None:
    with web_hook() as hook:
        urls = tmp_path / "urls"
        urls.write_text(hook.url)
        config = tmp_path / "palimpsest.toml"
        config.write_text(f'[notifications]\nurls = "{urls}"\nevents = "safe_mode.*"\nwait = 0\n')
        server = launch(tmp_path, "--config", str(config))
        command = [warm_python(), "-m", "gateway.cli", "safe-mode", "on", "--reason", "moving"]
        time.sleep(2.5)
        subprocess.run([*command, "-w", str(tmp_path / "w")], check=True, capture_output=True)
        server.end()
    assert ["safe_mode.on" in taken["message"] for taken in hook.taken] == [True]
    assert "reason: moving" in hook.taken[0]["message"]


def _row(seq: int, age_s: float, name: str = "sla.low") -> EventRow:
    at = NOW - timedelta(seconds=age_s)
    return EventRow(seq, at, name, "SUCCEEDED", None, None, None, "me", None, "{}")


def test_events_wait_for_others_and_fill_messages() -> None:
    wait, patterns = timedelta(seconds=10), parse_patterns("sla.*")

    def batch(*rows: EventRow) -> tuple[int, int, int] | None:
        found = next_batch(rows, 0, patterns, NOW, wait)
        return None if found is None else (len(found.events), found.up_to, found.lost)

    assert batch() is None
    assert batch(_row(1, 5)) is None
    assert batch(_row(1, 11), _row(2, 1)) == (2, 2, 0)
    assert batch(_row(1, 5, "entity.submit"), _row(2, 1, "entity.submit")) == (0, 2, 0)
    assert batch(*(_row(n, 1) for n in range(1, 61))) == (50, 50, 0)
    assert batch(_row(8, 11)) == (1, 8, 7)


@pytest.mark.parametrize("text", ["", "nothing.*", "sla.*:PERHAPS", ","])
def test_patterns_of_no_event_are_refused(text: str) -> None:
    with pytest.raises(PalimpsestError, match="is no pattern of events"):
        parse_patterns(text)


@pytest.mark.parametrize("text", ["", "# nothing\n", "nowhere://secret@host"])
def test_urls_that_do_not_do_are_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    file = tmp_path / "urls"
    file.write_text(text)
    with pytest.raises(PalimpsestError) as refused:
        channels_of(file)
    assert "secret" not in str(refused.value)
