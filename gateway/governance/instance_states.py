"""The states of an instance, and the state that each event leads to: one table. Pure.

    WAITING --inputs are there--> READY --start--> RUNNING --> SUCCEEDED, PARTIAL, FAILED
       ^                                    |--retry--> READY      |
       +---------------- rerun, late data -------------------------+

An event that makes no sense in a state leaves it as it is: resuming what was killed keeps it
killed. Suspending ends the attempt that runs, and resuming begins anew by looking at the inputs;
what the attempt has not committed by then never shows. An attempt in another store may have
committed without an answer; that it has is found there.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class InstanceState(StrEnum):
    """Where an instance stands."""

    WAITING = "WAITING"
    READY = "READY"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    SUCCEEDED = "SUCCEEDED"
    PARTIAL = "PARTIAL"
    FAILED = "FAILED"
    KILLED = "KILLED"
    TIMED_OUT = "TIMED_OUT"

    @property
    def is_terminal(self) -> bool:
        """True if nothing happens to it any more unless somebody asks for it, or late data does."""
        return self in TERMINAL


class InstanceEvent(StrEnum):
    """What happens to an instance; the last four are asked for by people."""

    INPUTS_READY = "inputs ready"
    START = "start"
    SUCCEED = "succeed"
    SUCCEED_PARTLY = "succeed partly"
    FAIL = "fail"
    RETRY = "retry"
    LOSE_RUNNER = "lose runner"
    TIME_OUT = "time out"
    FIND_COMMITTED = "find committed"
    LATE_DATA = "late data"
    SUSPEND = "suspend"
    RESUME = "resume"
    KILL = "kill"
    RERUN = "rerun"


_S, _E = InstanceState, InstanceEvent
TERMINAL = frozenset({_S.SUCCEEDED, _S.PARTIAL, _S.FAILED, _S.KILLED, _S.TIMED_OUT})
_RERUN: Mapping[InstanceEvent, InstanceState] = {_E.RERUN: _S.WAITING}

TRANSITIONS: Mapping[InstanceState, Mapping[InstanceEvent, InstanceState]] = {
    _S.WAITING: {
        _E.INPUTS_READY: _S.READY,
        _E.TIME_OUT: _S.TIMED_OUT,
        _E.SUSPEND: _S.SUSPENDED,
        _E.KILL: _S.KILLED,
    },
    _S.READY: {
        _E.START: _S.RUNNING,
        _E.FIND_COMMITTED: _S.SUCCEEDED,
        _E.SUSPEND: _S.SUSPENDED,
        _E.KILL: _S.KILLED,
    },
    _S.RUNNING: {
        _E.SUCCEED: _S.SUCCEEDED,
        _E.SUCCEED_PARTLY: _S.PARTIAL,
        _E.FIND_COMMITTED: _S.SUCCEEDED,
        _E.FAIL: _S.FAILED,
        _E.RETRY: _S.READY,
        _E.LOSE_RUNNER: _S.READY,
        _E.TIME_OUT: _S.TIMED_OUT,
        _E.SUSPEND: _S.SUSPENDED,
        _E.KILL: _S.KILLED,
    },
    _S.SUSPENDED: {_E.RESUME: _S.WAITING, _E.KILL: _S.KILLED},
    _S.SUCCEEDED: {**_RERUN, _E.LATE_DATA: _S.WAITING},
    _S.PARTIAL: {**_RERUN, _E.LATE_DATA: _S.WAITING},
    _S.FAILED: _RERUN,
    _S.KILLED: _RERUN,
    _S.TIMED_OUT: _RERUN,
}
"""The next state, by state and event; what is not listed changes nothing."""


def next_state(state: InstanceState, event: InstanceEvent) -> InstanceState:
    """The state after an event.

    >>> next_state(InstanceState.KILLED, InstanceEvent.RESUME)
    <InstanceState.KILLED: 'KILLED'>
    """
    return TRANSITIONS[state].get(event, state)
