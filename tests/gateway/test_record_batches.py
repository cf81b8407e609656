"""A result as a stream of Arrow batches, and an export that writes it as it comes."""

from __future__ import annotations

import gateway
from tests.support.record_batches import check_record_batches


def test_a_result_comes_in_batches() -> None:
    with gateway.connect("palimpsest://") as con:
        check_record_batches(con)
