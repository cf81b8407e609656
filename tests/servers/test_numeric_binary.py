"""Decimals of each precision and scale in binary, as psycopg reads them."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pytest
from psycopg.types.numeric import NumericBinaryLoader

from gateway.servers.pgwire.numeric_binary import DIGITS_MAX, numeric_column

_NUMERIC = 1700
_VALUES = 40


@pytest.mark.parametrize("precision", range(1, DIGITS_MAX + 1))
def test_each_scale_keeps_its_digits(precision: int) -> None:
    chance, loader = random.Random(precision), NumericBinaryLoader(_NUMERIC)
    for scale in range(precision + 1):
        numbers = [0, 10**precision - 1, 1 - 10**precision]
        for _ in range(_VALUES):
            number = chance.randrange(10 ** chance.randint(0, precision))
            numbers.append(chance.choice((-1, 1)) * number)
        values = [None, *(Decimal(number).scaleb(-scale) for number in numbers)]
        column = pa.array(values, pa.decimal128(precision, scale))
        found = [None if v is None else loader.load(v) for v in numeric_column(column).to_pylist()]
        assert found == values, scale
