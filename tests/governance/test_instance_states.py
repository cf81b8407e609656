"""The transition table of instances: what each event makes of each state (rows F22 to F25).

Expected here by rules in words, so that table and test are two statements of one thing.
"""

from __future__ import annotations

from itertools import product

import pytest

from gateway.governance.instance_states import (
    TERMINAL,
    TRANSITIONS,
    InstanceEvent,
    InstanceState,
    next_state,
)

S, E = InstanceState, InstanceEvent
ENDS = {
    E.SUCCEED: S.SUCCEEDED,
    E.SUCCEED_PARTLY: S.PARTIAL,
    E.FAIL: S.FAILED,
    E.RETRY: S.READY,
    E.LOSE_RUNNER: S.READY,
}


def expected(state: InstanceState, event: InstanceEvent) -> InstanceState:
    """The next state, by the rules in words."""
    if event in ENDS:  # An attempt ends only where one runs.
        return ENDS[event] if state is S.RUNNING else state
    if event is E.RERUN:  # F22: what has ended, and nothing else, can run again.
        return S.WAITING if state.is_terminal else state
    if event is E.KILL:  # F23, F25: what has ended stays as it ended.
        return state if state.is_terminal else S.KILLED
    if event is E.SUSPEND:
        return state if state.is_terminal else S.SUSPENDED
    if event is E.TIME_OUT:  # Waiting and running take too long; a turn that has not come does not.
        return S.TIMED_OUT if state in {S.WAITING, S.RUNNING} else state
    if event is E.FIND_COMMITTED:  # Only what has begun, and has not been stopped, can have.
        return S.SUCCEEDED if state in {S.READY, S.RUNNING} else state
    if event is E.LATE_DATA:  # F45: only what has consumed data can have missed some.
        return S.WAITING if state in {S.SUCCEEDED, S.PARTIAL} else state
    single = {
        E.RESUME: (S.SUSPENDED, S.WAITING),
        E.INPUTS_READY: (S.WAITING, S.READY),
        E.START: (S.READY, S.RUNNING),
    }
    source, target = single[event]
    return target if state is source else state


@pytest.mark.parametrize(("state", "event"), list(product(S, E)), ids=str)
def test_f22_f23_f25_each_event_in_each_state(state: InstanceState, event: InstanceEvent) -> None:
    assert next_state(state, event) is expected(state, event)


def test_the_table_has_every_state_and_no_step_that_changes_nothing() -> None:
    assert set(TRANSITIONS) == set(S)
    assert not [(s, e) for s, row in TRANSITIONS.items() for e, after in row.items() if s is after]


def test_f11_asking_twice_is_asking_once() -> None:
    for state, event in product(S, (E.SUSPEND, E.RESUME, E.KILL, E.RERUN)):
        once = next_state(state, event)
        assert next_state(once, event) is once


def test_every_state_can_be_reached_and_every_end_be_left() -> None:
    reached, todo = {S.WAITING}, [S.WAITING]
    while todo:
        for after in TRANSITIONS[todo.pop()].values():
            if after not in reached:
                reached.add(after)
                todo.append(after)
    assert reached == set(S)
    assert all(next_state(state, E.RERUN) is S.WAITING for state in TERMINAL)
