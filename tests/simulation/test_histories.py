"""The history checker: every planted anomaly is found and named; allowed histories pass."""

import pytest

from tests.simulation.histories import Append, Read, Transaction, find_anomalies


def _transactions(
    *parts: tuple[Append | Read, ...], aborted: tuple[int, ...] = ()
) -> list[Transaction]:
    """Return overlapping transactions, numbered from 1."""
    return [
        Transaction(number, operations, number not in aborted, 0.0, 10.0)
        for number, operations in enumerate(parts, start=1)
    ]


def _names(history: list[Transaction], final: dict[int, tuple[int, ...]]) -> set[str]:
    return {anomaly.name for anomaly in find_anomalies(history, final)}


def test_serial_history_passes() -> None:
    history = _transactions((Append(1, 1), Append(2, 2)), (Read(1, (1,)), Append(1, 3)))
    assert _names(history, {1: (1, 3), 2: (2,)}) == set()


def test_write_skew_is_allowed() -> None:
    history = _transactions((Read(1, ()), Append(2, 1)), (Read(2, ()), Append(1, 2)))
    assert _names(history, {1: (2,), 2: (1,)}) == set()


def test_lost_update() -> None:
    history = _transactions((Read(1, ()), Append(1, 1)), (Read(1, ()), Append(1, 2)))
    assert _names(history, {1: (2,)}) == {"lost update"}


def test_both_updates_from_one_snapshot() -> None:
    """Both appends are there, but the second writer had not seen the first."""
    history = _transactions((Read(1, ()), Append(1, 1)), (Read(1, ()), Append(1, 2)))
    assert _names(history, {1: (1, 2)}) == {"G-single (read skew)"}


def test_dirty_read() -> None:
    history = _transactions((Append(1, 1),), (Read(1, (1,)),), aborted=(1,))
    assert "aborted read" in _names(history, {1: ()})


def test_intermediate_read() -> None:
    history = _transactions((Append(1, 1), Append(1, 2)), (Read(1, (1,)),))
    assert _names(history, {1: (1, 2)}) == {"intermediate read"}


def test_non_repeatable_read() -> None:
    history = _transactions((Append(1, 1),), (Read(1, ()), Read(1, (1,))))
    assert _names(history, {1: (1,)}) == {"non-repeatable read"}


def test_own_write_not_read() -> None:
    history = _transactions((Append(1, 1), Read(1, ())))
    assert "own write not read" in _names(history, {1: (1,)})


def test_read_skew() -> None:
    history = _transactions((Append(1, 1), Append(2, 2)), (Read(1, (1,)), Read(2, ())))
    assert _names(history, {1: (1,), 2: (2,)}) == {"G-single (read skew)"}


def test_circular_information_flow() -> None:
    history = _transactions((Append(1, 1), Read(2, (2,))), (Append(2, 2), Read(1, (1,))))
    assert _names(history, {1: (1,), 2: (2,)}) == {"G1c (circular information flow)"}


def test_write_cycle() -> None:
    history = _transactions((Append(1, 1), Append(2, 2)), (Append(1, 3), Append(2, 4)))
    assert _names(history, {1: (1, 3), 2: (4, 2)}) == {"G0 (write cycle)"}


def test_incompatible_order() -> None:
    history = _transactions((Append(1, 1),), (Append(1, 2),), (Read(1, (2, 1)),))
    assert "incompatible order" in _names(history, {1: (1, 2)})


def test_duplicate_append() -> None:
    assert _names(_transactions((Append(1, 1),)), {1: (1, 1)}) == {"duplicate"}


def test_long_fork_is_found() -> None:
    """Two readers see two independent writes in opposite order: no snapshots explain that."""
    history = _transactions(
        (Append(1, 1),),
        (Append(2, 2),),
        (Read(1, (1,)), Read(2, ())),
        (Read(1, ()), Read(2, (2,))),
    )
    assert _names(history, {1: (1,), 2: (2,)}) == {"G-nonadjacent"}


@pytest.mark.parametrize(("began", "stale"), [(5.0, False), (11.0, True)])
def test_acknowledged_write_is_seen_by_who_begins_later(began: float, stale: bool) -> None:
    writer = Transaction(1, (Append(1, 1),), True, 0.0, 10.0)
    reader = Transaction(2, (Read(1, ()),), True, began, 12.0)
    assert bool(_names([writer, reader], {1: (1,)})) == stale
