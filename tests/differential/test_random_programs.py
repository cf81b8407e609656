"""A bounded share of the fuzzer's programs; `python -m tests.differential.fuzz` runs the rest."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.fuzzer import Fuzzer
from tests.support.logic.runner import CONFIGURATIONS, TIERS, Disturbance
from tests.support.positions import always_by_position
from tests.support.postgres import running
from tests.support.programs.program import random_program
from tests.support.programs.step import Step
from tests.support.programs.upkeep import ALL_JOBS, Upkeep
from tests.support.replay import shrink

SHARE = 3
SHARES = {"plain": 6, "flush": 4, "flush_and_restart": 4}
CASES = [(name, share) for name, shares in SHARES.items() for share in range(shares)]


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("config", "share"),
    [
        pytest.param(name, share, marks=pytest.mark.slow if share else (), id=f"{name}-{share}")
        for name, share in CASES
    ],
)
@pytest.mark.timeout(180)
def test_gateway_and_oracle_agree(tmp_path: Path, config: str, share: int) -> None:
    fuzzer = Fuzzer(tmp_path, CONFIGURATIONS[config])
    try:
        first = 10_000 + share * SHARE
        findings = fuzzer.run(range(first, first + SHARE))
    finally:
        fuzzer.close()
    assert [str(finding) for finding in findings] == []


@pytest.mark.long
@pytest.mark.timeout(180)
def test_gateway_and_oracle_agree_by_position(tmp_path: Path) -> None:
    with always_by_position():
        fuzzer = Fuzzer(tmp_path, TIERS, length=24)
        try:
            findings = fuzzer.run(range(11_000, 11_000 + SHARE))
        finally:
            fuzzer.close()
    assert [str(finding) for finding in findings] == []


@pytest.mark.timeout(180)
def test_statements_that_come_again(tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, Disturbance(), length=30, repeats=True)
    try:
        findings = fuzzer.run(range(13_000, 13_004))
    finally:
        fuzzer.close()
    assert [str(finding) for finding in findings] == []


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("wire", [False, True], ids=["", "wire"])
def test_statements_that_come_again_as_in_postgres(tmp_path: Path, wire: bool) -> None:
    with running() as cluster:
        place = cluster.conninfo(cluster.database())
        fuzzer = Fuzzer(tmp_path, Disturbance(), length=30, repeats=True, postgres=place, wire=wire)
        try:
            findings = fuzzer.run(range(14_000, 14_005))
        finally:
            fuzzer.close()
    assert [str(finding) for finding in findings] == []


@pytest.fixture
def self_test(tmp_path: Path) -> Iterator[Fuzzer]:
    fuzzer = Fuzzer(tmp_path, Disturbance(), self_test=True)
    yield fuzzer
    fuzzer.close()


def test_oracle_agrees_with_itself(self_test: Fuzzer) -> None:
    assert self_test.run(range(8)) == []


def test_same_seed_gives_same_program() -> None:
    assert random_program(17) == random_program(17)
    assert random_program(17) != random_program(18)


def test_shrinking_keeps_what_is_needed() -> None:
    steps = [Step(str(number)) for number in range(40)]
    needed = {Step("7"), Step("31")}
    assert set(shrink(steps, lambda kept: needed <= set(kept))) == needed


def test_shrinking_leaves_no_read_without_its_mark() -> None:
    mark, read = Step("-- m1", mark="m1"), Step("SELECT * FROM fz.t/*@m1*/")
    steps = [Step("0"), mark, Step("1"), read, Step("2")]
    tried: list[list[Step]] = []
    kept = shrink(steps, lambda shorter: tried.append(list(shorter)) or Step("2") in shorter)
    assert kept == [Step("2")]
    assert all(mark in shorter for shorter in tried if read in shorter)


@pytest.mark.long
def test_jobs_change_no_answer_but_what_they_are_asked_to(tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, Disturbance(), upkeep=Upkeep(jobs=ALL_JOBS))
    try:
        findings = fuzzer.run(range(12_000, 12_000 + SHARE))
    finally:
        fuzzer.close()
    assert [str(finding) for finding in findings] == []
