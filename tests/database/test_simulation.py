"""The simulations of the embedded store on a database, compactions amid them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.simulation.crash import CrashRun, read_log
from tests.simulation.histories import find_anomalies
from tests.simulation.list_append import run_workload
from tests.simulation.places import serving
from tests.simulation.transfers import run_transfers, wrong_balances
from tests.simulation.window import run_window

pytestmark = pytest.mark.stores


@pytest.mark.timeout(240)
def test_transfers_keep_the_sum(url: str) -> None:
    result, balances = run_transfers(url, threads=4, transfers=25, accounts=20, seed=1)
    assert result.unexpected == []
    assert result.wrong_sums == []
    assert result.transfers == 100
    assert wrong_balances(result, balances) == {}


@pytest.mark.timeout(240)
def test_recorded_history_has_no_anomaly(url: str) -> None:
    recorder, final = run_workload(url, threads=4, transactions=30, keys=6, seed=3)
    assert recorder.unexpected == []
    assert any(transaction.committed for transaction in recorder.history)
    assert find_anomalies(recorder.history, final) == []


@pytest.mark.timeout(300)
def test_processes_beside_each_other(url: str) -> None:
    with serving(url) as server:
        places = url, server
        report, moved = run_window(*places, threads=2, seconds=8, seed=1, processes=3)
        sizes = {"threads": 2, "transactions": 20, "keys": 6, "seed": 3, "processes": 3}
        recorder, final = run_workload(*places, **sizes)
    assert report.wrong == []
    assert moved == report.moves
    assert recorder.unexpected == []
    assert find_anomalies(recorder.history, final) == []


@pytest.mark.timeout(300)
def test_killed_gateways_lose_nothing(url: str, tmp_path: Path) -> None:
    run = CrashRun(tmp_path, random.Random(11), url)
    for _ in range(6):
        run.kill_once()
    assert read_log(run.log_path).done
