"""Concurrency and crashes, in small; the command lines of the modules run them in full."""

import random
import threading
from pathlib import Path

import pytest

import gateway
from tests.simulation.crash import CrashRun
from tests.simulation.histories import find_anomalies
from tests.simulation.list_append import run_workload
from tests.simulation.places import placed
from tests.simulation.transfers import run_transfers, wrong_balances
from tests.simulation.window import Report, run_window

FULL = pytest.param((8, 500), marks=[pytest.mark.slow, pytest.mark.timeout(900)])


@pytest.mark.parametrize("size", [(4, 40), FULL])
def test_transfers_keep_the_sum(tmp_path: Path, size: tuple[int, int]) -> None:
    threads, transfers = size
    result, balances = run_transfers(
        f"palimpsest:///{tmp_path / 'w'}", threads=threads, transfers=transfers, accounts=20, seed=1
    )
    assert result.unexpected == []
    assert result.wrong_sums == []
    assert result.transfers == threads * transfers
    assert wrong_balances(result, balances) == {}


@pytest.mark.parametrize("size", [(4, 40), FULL])
def test_recorded_history_has_no_anomaly(tmp_path: Path, size: tuple[int, int]) -> None:
    threads, transactions = size
    recorder, final = run_workload(
        f"palimpsest:///{tmp_path / 'w'}",
        threads=threads,
        transactions=transactions,
        keys=6,
        seed=3,
    )
    assert recorder.unexpected == []
    assert any(transaction.committed for transaction in recorder.history)
    assert find_anomalies(recorder.history, final) == []


def _check(report: Report, moved: int) -> None:
    assert report.wrong == []
    assert report.looks > 0
    assert moved == report.moves


def test_a_moving_window_has_no_gap(tmp_path: Path) -> None:
    _check(*run_window(f"palimpsest:///{tmp_path / 'w'}", threads=3, seconds=2, seed=1))


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize("servers", [0, 1])
def test_processes_beside_each_other(servers: int) -> None:
    with placed("embedded", servers) as urls:
        _check(*run_window(*urls, threads=2, seconds=6, seed=1, processes=3))
        sizes = {"threads": 2, "transactions": 20, "keys": 6, "seed": 3, "processes": 3}
        recorder, final = run_workload(*urls, **sizes)
    assert recorder.unexpected == []
    assert find_anomalies(recorder.history, final) == []


@pytest.mark.parametrize(
    "kills",
    [
        1,
        pytest.param(3, marks=pytest.mark.long),
        pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_killed_writer_loses_nothing(tmp_path: Path, kills: int) -> None:
    run = CrashRun(tmp_path, random.Random(11), longest_s=0.8)
    for _ in range(kills):
        run.kill_once()
    assert run.kills == kills


@pytest.mark.parametrize("definition", ["PRIMARY KEY", "UNIQUE"])
def test_one_of_many_inserts_of_a_key_wins(tmp_path: Path, definition: str) -> None:
    url = f"palimpsest:///{tmp_path / 'w'}"
    threads = 6
    with gateway.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE TABLE main.t (k INTEGER {definition}, who INTEGER)")
        for key in range(8):
            states = _race(url, key, threads)
            assert states.count("ok") == 1
            assert set(states) <= {"ok", "23505", "40001"}
        cursor.execute("SELECT count(*), count(DISTINCT k) FROM main.t")
        assert cursor.fetchall() == [(8, 8)]


def _race(url: str, key: int, threads: int) -> list[str]:
    gate = threading.Barrier(threads)
    states: list[str] = []

    def insert(number: int) -> None:
        with gateway.connect(url, autocommit=number % 2 == 0) as connection:
            cursor = connection.cursor()
            gate.wait()
            try:
                cursor.execute("INSERT INTO main.t VALUES (?, ?)", [key, number])
                connection.commit()
                states.append("ok")
            except gateway.Error as error:
                connection.rollback()
                states.append(error.sqlstate)

    workers = [threading.Thread(target=insert, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return states
