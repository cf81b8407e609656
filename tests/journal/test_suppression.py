"""What may not be written again after an erasure by a condition, in embedded warehouses."""

from __future__ import annotations

from tests.support import suppressing
from tests.support.client import Client


def test_identifiers_in_a_condition_do_not_come_back(run: Client) -> None:
    suppressing.make(run)
    suppressing.check_named(run)


def test_other_conditions_suppress_keys_alone(run: Client) -> None:
    suppressing.make(run)
    suppressing.check_keys_alone(run)


def test_what_others_hold_is_told_and_left_as_it_is(run: Client) -> None:
    suppressing.make(run)
    suppressing.check_shared(run)
    suppressing.check_left_as_is(run)
