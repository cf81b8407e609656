"""The states of a request of a person, its deadlines, gates and batches: pure tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from gateway.privacy_desk import parts as parts_of_tables
from gateway.privacy_desk.batch_steps import without_values
from gateway.privacy_desk.batches import Estimate, form_batches, split_tables
from gateway.privacy_desk.desk_policy import DeskPolicy
from gateway.privacy_desk.questions import Urgency, urgency
from gateway.privacy_desk.request_files import identities_in_words, requests_in_csv
from gateway.privacy_desk.sealing import identity_digest, join_parts, opener, sealer, split_parts
from gateway.privacy_desk.states import (
    STEP_EVENTS,
    TRANSITIONS,
    PrivacyEvent,
    PrivacyState,
    next_state,
)
from gateway.privacy_desk.submission import first_event
from journal.identity.normalisers import LOWER
from journal.model.errors import Code, PalimpsestError
from journal.records.privacy_rows import PrivacyRequest

S, E = PrivacyState, PrivacyEvent
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SECRET = "ab" * 32
ENDS = {S.DENIED, S.DUPLICATE, S.COMPLETED, S.CANCELLED}


@pytest.mark.parametrize(("state", "event"), list(product(S, E)))
def test_what_makes_no_sense_changes_nothing(state: PrivacyState, event: PrivacyEvent) -> None:
    found = next_state(state, event)
    assert found == TRANSITIONS[state].get(event, state)
    if event not in TRANSITIONS[state]:
        assert found is state


def test_every_state_is_in_the_table_and_can_be_reached() -> None:
    assert set(TRANSITIONS) == set(S)
    reached, left = set[PrivacyState](), [S.RECEIVED]
    while left:
        state = left.pop()
        if state not in reached:
            reached.add(state)
            left += TRANSITIONS[state].values()
    assert reached == set(S)
    assert {s for s in S if s.is_terminal} == ENDS


def test_no_event_leads_out_of_an_end_and_each_end_can_be_reached_from_everywhere() -> None:
    for state in set(S) - ENDS:
        reached, left = set[PrivacyState](), [state]
        while left:
            one = left.pop()
            if one not in reached:
                reached.add(one)
                left += TRANSITIONS[one].values()
        assert S.COMPLETED in reached, state


@pytest.mark.parametrize("step", STEP_EVENTS)
def test_what_failed_goes_on_from_the_step_that_failed(step: PrivacyState) -> None:
    assert next_state(step, E.FAIL) is S.FAILED
    assert next_state(S.FAILED, STEP_EVENTS[step]) is step


def test_nothing_is_executed_before_the_gates_are_passed() -> None:
    for state in (S.RECEIVED, S.IDENTITY_UNVERIFIED, S.PENDING_APPROVAL):
        for event in (E.FIND, E.PLAN, E.EXECUTE, E.VERIFY, E.COMPLETE):
            assert next_state(state, event) is state
    policy = DeskPolicy().changed({"identity_checks": "erasure", "four_eyes": "all"})
    asked = [first_event(policy, "erasure", verified=v, approved=a)
             for v, a in ((False, False), (True, False), (True, True))]  # fmt: skip
    assert asked == [E.ASK_IDENTITY, E.ASK_APPROVAL, E.QUEUE]
    assert first_event(policy, "access", verified=False, approved=True) is E.QUEUE


@pytest.mark.parametrize(
    ("regulation", "due"),
    [
        ("GDPR", datetime(2026, 2, 28, 12, tzinfo=UTC)),
        ("CCPA", NOON + timedelta(days=45)),
        ("LGPD", NOON + timedelta(days=15)),
    ],
)
def test_deadlines_are_those_of_the_calendar(regulation: str, due: datetime) -> None:
    assert DeskPolicy().due_at(regulation, NOON) == due


def test_deadlines_can_be_set_and_added_and_are_read_back() -> None:
    policy = DeskPolicy().changed({"deadlines.APPI": "20 days", "deadlines.gdpr": "2 weeks"})
    assert DeskPolicy.of_json(policy.to_json()) == policy
    assert policy.due_at("APPI", NOON) == NOON + timedelta(days=20)
    assert policy.due_at("GDPR", NOON) == NOON + timedelta(days=14)
    with pytest.raises(PalimpsestError) as refused:
        policy.due_at("NONE", NOON)
    assert refused.value.code is Code.PRIVACY_REQUEST


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_identities": "100001"},
        {"export_days": "0"},
        {"exports": "all"},
        {"four_eyes": "deletion"},
        {"warn_before": "soon"},
        {"nothing": "1"},
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(PalimpsestError) as refused:
        DeskPolicy().changed(settings)
    assert refused.value.code is Code.PRIVACY_POLICY


def test_a_deadline_is_near_from_the_warning_on_and_missed_after_it() -> None:
    warns = DeskPolicy().warns_at(NOON)
    assert urgency(NOON, warns, warns - timedelta(seconds=1)) is Urgency.IN_TIME
    assert urgency(NOON, warns, warns) is Urgency.DUE_SOON
    assert urgency(NOON, warns, NOON) is Urgency.DUE_SOON
    assert urgency(NOON, warns, NOON + timedelta(microseconds=1)) is Urgency.OVERDUE


def _request(number: int, action: str = "erasure", due: int = 30) -> PrivacyRequest:
    until = NOON + timedelta(days=due)
    return PrivacyRequest(
        *(f"r{number}", "s", None, None, "GDPR", action, "QUEUED", None, "ann", None),
        *(NOON, until, NOON, "", {"types": {"email": 1}}),
    )


def test_requests_that_ask_the_same_share_a_batch_of_bounded_size_by_due_date() -> None:
    found = [_request(1), _request(2, due=5), _request(3, "access"), _request(4)]
    policy = DeskPolicy().changed({"batch_identities": "2"})
    groups = [[r.id for r in g] for g in form_batches(found, {}, policy, NOON)]
    assert groups == [["r2", "r1"], ["r4"], ["r3"]]
    alone = form_batches([_request(n, "restriction") for n in (1, 2)], {}, DeskPolicy(), NOON)
    assert [len(g) for g in alone] == [1, 1]


def test_a_small_batch_waits_until_it_is_old_full_or_due_soon() -> None:
    policy = DeskPolicy()
    one = [_request(1)]
    assert not form_batches(one, {}, policy, NOON, all_due=False)
    assert form_batches(one, {}, policy, NOON + timedelta(days=1), all_due=False)
    assert form_batches([_request(1, due=7)], {}, policy, NOON, all_due=False)
    assert form_batches(one, {"r1": 100_000}, policy, NOON, all_due=False)


@pytest.mark.parametrize(
    ("sizes", "most", "groups"),
    [
        ({"a": 5, "b": 4, "c": 1}, 5, [["a"], ["b", "c"]]),
        ({"a": 9, "b": 1}, 5, [["a"], ["b"]]),
        ({"a": 9, "b": 1}, 0, [["a", "b"]]),
        ({}, 5, []),
    ],
)
def test_a_large_scan_is_split_by_tables(
    sizes: dict[str, int], most: int, groups: list[list[str]]
) -> None:
    assert split_tables(sizes, most) == groups


def test_an_estimate_is_in_bytes_seconds_and_money() -> None:
    policy = DeskPolicy().changed({"scan_mb_per_second": "100", "price_per_tb": "5"})
    found = Estimate.of(policy, 3_000_000_000, 1_000_000_000)
    assert (found.seconds, found.price, found.currency) == (40.0, 0.02, "EUR")


def test_a_file_has_a_person_a_line_and_its_errors_say_the_line_alone() -> None:
    found = requests_in_csv(["external_id,Email,customer\n", "T-1,a@x.example,\n", ",,17\n", "\n"])
    assert [(r.external_id, r.identities) for r in found] == [
        ("T-1", (("email", "a@x.example"),)),
        (None, (("customer", "17"),)),
    ]
    with pytest.raises(PalimpsestError) as refused:
        requests_in_csv(["email\n", "a@x.example,secret\n"])
    assert "line 2" in refused.value.message
    assert "secret" not in str(refused.value)


def test_identities_of_several_parts_do_not_depend_on_their_order() -> None:
    one, other = (identities_in_words((), [w]) for w in ("b=2&a=1", "a=1&b=2"))
    assert one == other == (join_parts([("b", "2"), ("a", "1")]),)
    assert split_parts(*one[0]) == [("a", "1"), ("b", "2")]


def test_identifiers_are_sealed_for_one_request_and_told_again_by_a_keyed_hash() -> None:
    sealed = sealer(SECRET)("r1", "email", "ada@x.example")
    assert "ada" not in sealed
    assert sealed != sealer(SECRET)("r1", "email", "ada@x.example")
    assert opener(SECRET)("r1", "email", sealed) == "ada@x.example"
    for secret, request in ((SECRET, "r2"), ("cd" * 32, "r1")):
        with pytest.raises(PalimpsestError):
            opener(secret)(request, "email", sealed)
    digests = {identity_digest(SECRET, "email", v, LOWER) for v in ("a@x", " A@X ")}
    assert len(digests) == 1
    assert identity_digest("cd" * 32, "email", "a@x", LOWER) not in digests


def test_no_error_keeps_what_it_quotes_of_an_identifier() -> None:
    text = without_values("cannot convert 'ada@x.example' to INTEGER", {"Ada@x.example"})
    assert text == "cannot convert '***' to INTEGER"


def test_a_request_is_a_value() -> None:
    assert replace(_request(1), state="FINDING") != _request(1)


def test_a_table_that_is_larger_is_split_by_its_pieces() -> None:
    sizes = {1: {"a": 5, "b": 4, "c": 1, "": 3}, 2: {"d": 1}, 3: {"": 9}}
    parts = parts_of_tables.split(sizes, 5)
    assert [(part.tables, part.pieces, part.is_last) for part in parts] == [
        ((3,), (), False),
        ((2,), (), False),
        ((1,), ("a",), False),
        ((1,), ("b", "c"), False),
        ((1,), (), True),
    ]
