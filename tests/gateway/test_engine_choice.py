"""Where jobs run by themselves: in this process, until Spark is done sooner."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.config import Settings
from gateway.jobs import engines
from gateway.jobs.engine_costs import cores_of, is_spark_sooner
from gateway.jobs.engines import Engines
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine

LITTLE, MUCH = 10_000_000, 50_000_000_000


def _settings(engine: str, master: str = "local[4]") -> Settings:
    return Settings().with_setting("job_engine", engine).with_setting("spark_master", master)


@pytest.mark.parametrize(
    ("master", "cores"), [("local", 1), ("local[3]", 3), ("local[2,3]", 2), ("yarn", 16)]
)
def test_masters_say_how_many_cores_they_have(master: str, cores: int) -> None:
    assert cores_of(master) == cores
    assert cores_of("local[*]") >= 1


def test_a_spark_that_is_there_pays_off_sooner_and_one_core_of_it_never() -> None:
    sizes = [n * 1_000_000 for n in (1, 10, 50, 200, 1000, 5000)]
    cold = [is_spark_sooner(n, 4, is_warm=False) for n in sizes]
    warm = [is_spark_sooner(n, 4, is_warm=True) for n in sizes]
    assert cold == [False, False, False, False, True, True]
    assert warm == [False, False, True, True, True, True]
    assert not any(is_spark_sooner(n, 1, is_warm=True) for n in sizes)


def test_auto_takes_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    chosen = Engines()
    assert isinstance(chosen.choose(_settings("auto"), LITTLE), LocalEngine)
    assert isinstance(chosen.choose(_settings("auto"), MUCH), SparkEngine)
    assert isinstance(chosen.choose(_settings("auto", "local"), MUCH), LocalEngine)
    assert isinstance(chosen.choose(_settings("spark"), LITTLE), SparkEngine)
    assert isinstance(chosen.choose(_settings("local"), MUCH), LocalEngine)
    monkeypatch.setattr(engines, "_has_spark", lambda: False)
    assert isinstance(chosen.choose(_settings("auto"), MUCH), LocalEngine)
    chosen.close()


def test_an_engine_for_some_files_is_chosen_by_the_units() -> None:
    engine = Engines().choose_late(_settings("auto"), MUCH)
    units: list[Any] = [{"bytes": 3, "n": n} for n in range(2)]
    found = engine.map("tests.gateway.test_engine_choice:number", units, lambda *_done: None)
    assert found == [0, 1]


def number(unit: dict[str, int]) -> int:
    """What a unit of the test comes to."""
    return unit["n"]
