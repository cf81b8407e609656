"""What client and owner say to each other. Values only.

client: Hello --- owner: Welcome | Failed          once, at the start
client: OwnerCall --- owner: (Advanced | WorkOrder)* then Answered | Failed | Moved
client: WorkDone | WorkFailed                      in answer to WorkOrder
client: Signal    on a connection of its own, instead of Hello: cancel, or how far it is
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.config import Settings
from journal.model.errors import Code, PalimpsestError, Position
from journal.model.lazy_dataclass import dataclass
from journal.model.result_column import ResultColumn

PROTOCOL = 5
"""Raised by every change of these messages; both ends must have the same."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A client asks for a session; ``application`` and ``user`` are recorded with commits."""

    protocol: int
    version: str
    dialect: str
    autocommit: bool
    user: str | None
    application: str | None
    settings: Settings
    folder: str
    """The client's working directory, in which relative paths of its statements lie."""
    zone: str
    """The client's time zone, in which it reads and shows timestamps unless it sets another."""


@dataclass(frozen=True, slots=True)
class SessionState:
    """What a client may ask of its session without a message, as of the last answer.

    ``is_pinned``: the session cannot move to another owner, because a transaction is open or it has
    temporary tables.
    """

    status: str
    has_written: bool
    is_pinned: bool
    settings: Settings


@dataclass(frozen=True, slots=True)
class Welcome:
    """The owner's greeting; ``key`` is what a ``Signal`` about this session has to name."""

    key: str
    pid: int
    state: SessionState


@dataclass(frozen=True, slots=True)
class OwnerCall:
    """One request: the name of an operation and its arguments.

    ``transaction_id`` is the client's name for what the call commits; ``again`` says that another
    owner may have run it already. The client fetches nothing more of the results ``dropped``.
    """

    operation: str
    arguments: tuple[Any, ...] = ()
    transaction_id: str | None = None
    again: bool = False
    dropped: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OutcomeHead:
    """What a statement did, and its first rows; ``is_whole``: there are no more.

    The rows are Python values, or the bytes of an Arrow batch. ``columns`` is None where there is
    no result; ``result`` is the number of one.
    """

    tag: str
    row_count: int
    skipped: int = 0
    columns: Sequence[ResultColumn] | None = None
    result: int = 0
    rows: Sequence[tuple[Any, ...]] | bytes | memoryview = ()
    is_whole: bool = True
    rejected: int = 0
    notices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """What an operation returned, and the state of the session if it is another one than before."""

    value: Any
    state: SessionState | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The error that ended an operation."""

    code: str
    message: str
    advice: str
    position: Position | None
    state: SessionState | None

    @classmethod
    def of(cls, error: PalimpsestError, state: SessionState | None) -> Failed:
        """An error as a message."""
        return cls(error.code.name, error.message, error.advice, error.position, state)

    def error(self) -> PalimpsestError:
        """The error again."""
        return PalimpsestError(
            Code[self.code], self.message, advice=self.advice, position=self.position
        )


@dataclass(frozen=True, slots=True)
class Moved:
    """The owner is about to close the warehouse: it has not run the call; find the next owner."""


@dataclass(frozen=True, slots=True)
class Advanced:
    """How far an operation is."""

    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """A part of a job that the client is to run: see ``spark_compaction.contract.Engine``.

    ``size`` is that of the table in bytes, by which the client chooses its engine.
    """

    method: str
    function: str
    argument: Any
    size: int


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What a part of a job gave."""

    value: Any


@dataclass(frozen=True, slots=True)
class WorkFailed:
    """The error that ended a part of a job."""

    code: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class Signal:
    """About the session of a ``key``: ``cancel`` what it runs, or say its ``progress``."""

    kind: str
    key: str
