"""Decimals of each precision and scale in binary, as psycopg reads them."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pytest
from psycopg.types.numeric import DecimalBinaryDumper, NumericBinaryLoader

from gateway.servers.pgwire.numeric_binary import DIGITS_MAX, numeric_column
from gateway.servers.pgwire.values_binary import numeric_from

_NUMERIC = 1700
_VALUES = 40


@pytest.mark.parametrize("precision", range(1, DIGITS_MAX + 1))
def test_each_scale_keeps_its_digits(precision: int) -> None:
    chance, loader = random.Random(precision), NumericBinaryLoader(_NUMERIC)
    dumper = DecimalBinaryDumper(Decimal)
    for scale in range(precision + 1):
        numbers = [0, 10**precision - 1, 1 - 10**precision]
        for _ in range(_VALUES):
            number = chance.randrange(10 ** chance.randint(0, precision))
            numbers.append(chance.choice((-1, 1)) * number)
        values = [None, *(Decimal(number).scaleb(-scale) for number in numbers)]
        sent = [None if v is None else dumper.dump(v) for v in values]
        assert [None if v is None else numeric_from(bytes(v)) for v in sent] == values, scale
        column = pa.array(values, pa.decimal128(precision, scale))
        found = [None if v is None else loader.load(v) for v in numeric_column(column).to_pylist()]
        assert found == values, scale
