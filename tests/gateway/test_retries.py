"""A session waits as the policy that it is given says, and opens like those of the DB-API."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.config import Settings
from gateway.opening.sessions import OpenedSession, open_session
from gateway.session.results import StatementOutcome
from gateway.session.retries import RandomWaits, RetryPolicy, run_until_first
from journal.model.errors import Code, PalimpsestError

ROUNDS = 500
"""By then two of four writers have met."""


class Counting:
    """Waits for nothing, and knows how often it was to wait."""

    def __init__(self) -> None:
        self.attempts: list[int] = []

    def wait(self, attempt: int) -> None:
        """Note the attempt."""
        self.attempts.append(attempt)


def _opened(folder: Path, retries: RetryPolicy) -> OpenedSession:
    return open_session(
        f"palimpsest:///{folder}",
        dialect="duckdb",
        autocommit=True,
        user="ann",
        application=None,
        settings=Settings(retries=1000),
        retries=retries,
    )


def test_waits_grow_with_each_try() -> None:
    slept: list[float] = []
    waits = RandomWaits(slept.append, lambda low, high: (low + high) / 2)
    for attempt in range(3):
        waits.wait(attempt)
    assert slept == [0.001, 0.002, 0.004]


@pytest.mark.parametrize(
    ("try_s", "turns"),
    [(1.0, [False, False, False, True, True]), (5.1, [False] * 5)],
)
def test_a_statement_that_lost_three_times_takes_its_turn_unless_it_is_slow(
    try_s: float, turns: list[bool]
) -> None:
    now, is_inside = 0.0, False
    taken: list[bool] = []
    lasts: list[bool] = []

    @contextmanager
    def turn() -> Iterator[None]:
        nonlocal is_inside
        is_inside = True
        try:
            yield
        finally:
            is_inside = False

    def lose(is_last: bool) -> None:
        nonlocal now
        taken.append(is_inside)
        lasts.append(is_last)
        now += try_s
        raise PalimpsestError(Code.SERIALIZATION, "another came first")

    policy = Counting()
    with pytest.raises(PalimpsestError) as caught:
        run_until_first(lose, 4, policy, turn, lambda: now)
    assert caught.value.code is Code.SERIALIZATION
    assert taken == turns
    assert lasts == [False] * 4 + [True]
    assert policy.attempts == [0, 1, 2, 3]


def test_sessions_that_come_second_wait_by_their_policy(tmp_path: Path) -> None:
    """Updates of a whole table are not bounded, so they conflict at COMMIT."""
    counting = [Counting() for _ in range(4)]
    opened = [_opened(tmp_path / "w", policy) for policy in counting]
    first = opened[0].session
    first.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER)").close()
    first.execute("INSERT INTO t SELECT i, 0 FROM range(50) AS r(i)").close()

    runs: list[int] = []

    def add(found: OpenedSession) -> None:
        while len(runs) < ROUNDS and not any(policy.attempts for policy in counting):
            found.session.execute("UPDATE t SET n = n + 1 WHERE k % 2 = 0").close()
            runs.append(1)

    threads = [threading.Thread(target=add, args=(found,)) for found in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcome: StatementOutcome = first.execute("SELECT DISTINCT n FROM t WHERE k % 2 = 0")
    assert outcome.rows is not None
    assert outcome.rows.take(10) == [(len(runs),)]
    tried = [attempt for policy in counting for attempt in policy.attempts]
    assert tried
    assert min(tried) == 0
    outcome.close()
    counted = first.execute("SELECT runs FROM system.lineage WHERE statement LIKE 'UPDATE t %'")
    assert counted.rows is not None
    assert counted.rows.take(10) == [(len(runs),)]  # What was tried again counts once.
    counted.close()
    for found in opened:
        found.close()
