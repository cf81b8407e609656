"""Hashes of values never change: filters on disk hold them."""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from journal.files.filters import bloom, hashing
from journal.files.filters.hashing import hash_rows

_ALL = 2**64 - 1
_GOLDEN, _MIX_1, _MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _mixed(value: int) -> int:
    value = (value ^ (value >> 30)) * _MIX_1 & _ALL
    value = (value ^ (value >> 27)) * _MIX_2 & _ALL
    return value ^ (value >> 31)


def plain_hash(value: str | bytes | int) -> int:
    """The hash of one value, as plain as it can be said."""
    if isinstance(value, int):
        return _mixed((value * _GOLDEN + _GOLDEN) & _ALL)
    data = value.encode() if isinstance(value, str) else value
    found = len(data) * _GOLDEN & _ALL
    for at in range(0, max(1, len(data)), 8):
        word = data[at : at + 8]
        # The last bytes stand in the high end of their word.
        number = int.from_bytes(word, "little") << (8 * (8 - len(word)) if word else 0)
        found = (found ^ number) * _MIX_1 & _ALL
        found = (found ^ (found >> 32)) * _GOLDEN & _ALL
    return _mixed(found)


GOLD = {
    (): 0x0,
    ("a",): 0x88E0DB8151C5C0E0,
    ("abcdefgh",): 0xCD381D95FE1100E3,
    ("abcdefghi",): 0xE7516A0608D1B5B2,
    ("zoë@exämple.org",): 0xECE735034F6382FA,
    ("x" * 40,): 0xCF9B56FE776F4EB4,
    (b"\0",): 0x461629F17F489FE1,
    (b"\xff" * 17,): 0xD4AF6FA7A4B49EAE,
    (0,): 0xE220A8397B1DCDAF,
    (1,): 0x6E789E6AA1B965F4,
    (-1,): 0x0,
    (2**63 - 1,): 0x25C26EA579CEA98A,
}


def test_hashes_are_those_that_filters_on_disk_hold() -> None:
    for held, expected in GOLD.items():
        value = held[0] if held else ""
        assert plain_hash(value) == expected
        assert hash_rows(pa.array([value])).tolist() == [expected]
    hashes = hash_rows(pa.array([f"user {i % 700}" for i in range(2000)]))
    made = bloom.build(hashes, 0.001)
    assert (made.blocks, made.probes, made.distinct) == (25, 6, 700)
    assert zlib.crc32(made.bits) == 0xCFA7E15D


@given(st.lists(st.one_of(st.text(max_size=40), st.sampled_from(["", "same", "\0", "é"]))))
def test_text_hashes_as_it_is_said_to(values: list[str]) -> None:
    expected = [plain_hash(v) for v in values]
    for kind in (pa.string(), pa.large_string()):
        assert hash_rows(pa.array(values, kind)).tolist() == expected
    chunked = pa.chunked_array([values, values[1:]], pa.string())
    assert hash_rows(chunked).tolist() == expected + expected[1:]
    sliced = pa.array(["before", *values, "behind"])[1:-1]
    assert hash_rows(sliced).tolist() == expected


@given(st.integers(0, 40), st.integers(1, 50), st.binary(min_size=200, max_size=200))
def test_bytes_of_one_length_hash_alike(length: int, count: int, pool: bytes) -> None:
    values = [pool[i : i + length] for i in range(count)]
    found = hash_rows(pa.array(values, pa.binary())).tolist()
    assert found == [plain_hash(v) for v in values]


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_whole_numbers_hash_alike_in_every_width(values: list[int]) -> None:
    for kind in (pa.int32(), pa.int64()):
        assert hash_rows(pa.array(values, kind)).tolist() == [plain_hash(v) for v in values]
    large = [v % 2**64 for v in values]
    assert hash_rows(pa.array(large, pa.uint64())).tolist() == [plain_hash(v) for v in large]


@given(st.lists(st.integers(0, _ALL), min_size=1, max_size=300), st.integers(1, 20))
def test_a_filter_holds_what_was_put_in(values: list[int], times: int) -> None:
    held = np.array([0, _ALL, *values] * times, dtype=np.uint64)
    assert bloom.build(held.copy(), 0.001).may_hold(held).all()
    assert bloom.build(held.copy(), 0.01, 5).may_hold(held).all()
    assert not bloom.build(held[:0].copy(), 0.001).may_hold(held).any()


def test_many_values_are_counted_as_nearly_as_a_thousandth() -> None:
    some = np.random.default_rng(7).integers(0, _ALL, 200_000, dtype=np.uint64)
    crowd = np.concatenate([some, some[:50_000], np.full(100_000, some[0]), some % 1000])
    exact = len(np.unique(crowd))
    assert abs(bloom.distinct_hashes(crowd) - exact) < exact / 1000


def test_types_that_can_be_hashed() -> None:
    assert hashing.can_hash(pa.date32())
    assert not hashing.can_hash(pa.float64())
