"""A session in another process, which has the warehouse open: what a front end sees of it.

    call --> answer                      the usual case
    call --> moved                       the owner ends: connect to the next one, and call it again
    call --> the owner dies              an autocommit statement is run again, unless it is known to
                                         be committed; an open transaction is lost (08006); of a
                                         COMMIT nobody knows (08007) until its id is looked up

Whoever finds no owner when it connects again starts one that belongs to nobody (``next_owner``).
"""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gateway.sharing import folder, wire
from gateway.sharing.messages import (
    Advanced,
    Answered,
    Failed,
    Hello,
    Moved,
    OwnerCall,
    SessionState,
    Signal,
    Welcome,
    WorkOrder,
)
from gateway.sharing.next_owner import start
from gateway.sharing.shared_memory import IncomingPlaces
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from gateway.sharing.session_link import SessionLink

_LOOK_S = 1.0
"""How often a client that waits looks whether its owner is stopped."""
_TRIES = 8
_SIGNAL_S = 5.0
"""How long an owner has to answer a signal."""


@dataclass(slots=True)
class Link:
    """A connection to an owner."""

    peer: socket.socket
    welcome: Welcome
    owner: folder.Owner
    stopped_s: float = 0.0
    places: IncomingPlaces = field(default_factory=IncomingPlaces)


class RemoteOwner:
    """The owner of a folder, whoever it is at the moment: calls reach it one after the other."""

    def __init__(self, root: Path, hello: Hello, peer: socket.socket) -> None:
        self.root = root
        self._hello = hello
        self._link: Link | None = None
        self._dropped: list[int] = []
        self._is_lost = False
        self.state = self._greet(peer)

    def call(
        self,
        operation: str,
        *arguments: Any,
        commits: bool = False,
        advance: Callable[..., None] | None = None,
        batches: list[memoryview] | None = None,
        single: bool = False,
    ) -> Any:
        """What an operation returns; raises its error, OWNER_LOST, OWNER_STOPPED, OUTCOME_UNKNOWN.

        ``commits``: the call may commit something, so it gets a name. ``batches`` takes the raw
        messages that come before the answer. A ``single`` call is not made again when the owner
        ends meanwhile.
        """
        self.check_not_lost()
        name = uuid.uuid4().hex if commits else None
        again = False
        for _ in range(_TRIES):
            before = self.state
            try:
                dropped, self._dropped = tuple(self._dropped), []
                answer = self._ask(
                    OwnerCall(operation, arguments, name, again, dropped), advance, batches
                )
            except wire.PeerGone:
                self._check_retry(before, operation, arguments, name, single)
                again = True
                continue
            if isinstance(answer, Moved):
                self._hang_up()
                if operation == "fetch":
                    raise self.rows_lost()
                continue
            if answer.state is not None:
                self.state = answer.state
            if isinstance(answer, Failed):
                raise answer.error()
            return answer.value
        raise self._lost_error("it ended again and again while a statement was to run")

    @property
    def session_key(self) -> str:
        """Which session the numbers of results are of; empty while there is none."""
        return "" if self._link is None else self._link.welcome.key

    def rows_lost(self) -> PalimpsestError:
        """The error of rows that were to be fetched from a session that is over."""
        return self._lost_error("the rows that were not fetched yet are gone")

    def drop(self, result: int) -> None:
        """Fetch nothing more of a result; the owner hears of it with the next call."""
        self._dropped.append(result)

    def signal(self, kind: str) -> Any:
        """Say something about the session while a call runs; None if there is no owner."""
        link = self._link
        peer = None if link is None else folder.connect(self.root)
        if link is None or peer is None:
            return None
        peer.settimeout(_SIGNAL_S)
        with peer:
            try:
                wire.send(peer, Signal(kind, link.welcome.key))
                return wire.receive(peer, _give_up)
            except wire.PeerGone:
                return None

    def copy_in(self, _text: str, _file: IO[bytes]) -> int | None:
        """The owner reads files of this machine."""
        return None

    def starts_with(self, *, autocommit: bool) -> None:
        """What a session with the next owner begins with."""
        self._hello = replace(self._hello, autocommit=autocommit)

    def close(self) -> None:
        """Leave; the owner rolls back what is open."""
        self._hang_up()

    def check_not_lost(self) -> None:
        """Raise OWNER_LOST, once, if a transaction was lost of which nobody was told."""
        is_lost, self._is_lost = self._is_lost, False
        if is_lost:
            raise self._lost_error("the open transaction and temporary tables are gone")

    def forget_loss(self) -> None:
        """The client itself gives up its transaction."""
        self._is_lost = False

    def _ask(
        self,
        call: OwnerCall,
        advance: Callable[..., None] | None,
        batches: list[memoryview] | None,
    ) -> Answered | Failed | Moved:
        link = self._link or self._connect()
        wire.send(link.peer, call)
        try:
            return self._answer(link, advance, batches)
        except wire.PeerGone:
            raise
        except BaseException as error:
            # The answer is still to come, and nobody waits for it any more.
            if isinstance(error, KeyboardInterrupt):
                self.signal("cancel")
            self._is_lost = self.state.is_pinned
            self._hang_up()
            raise

    def _answer(
        self,
        link: Link,
        advance: Callable[..., None] | None,
        batches: list[memoryview] | None,
    ) -> Answered | Failed | Moved:
        while True:
            message = wire.receive(link.peer, lambda: self._check_owner(link), link.places)
            match message:
                case memoryview():
                    if batches is not None:
                        batches.append(message)
                case Advanced(told):
                    if advance is not None:
                        advance(*told)
                case WorkOrder():
                    from gateway.sharing.client_work import answer_work

                    answer_work(link.peer, message, self.state.settings)
                case Answered() | Failed() | Moved():
                    link.stopped_s = 0.0
                    return message

    def _connect(self) -> Link:
        while True:
            found = folder.claim(self.root, short=False)
            if isinstance(found, folder.OwnerLock):
                found.release()
                start(self.root)
                continue
            try:
                self.state = self._greet(found)
            except wire.PeerGone:
                continue
            assert self._link is not None
            return self._link

    def _greet(self, peer: socket.socket) -> SessionState:
        peer.settimeout(_LOOK_S)
        owner = folder.owner_of(self.root) or folder.Owner(0, "unknown")
        waited = 0.0

        def check_greeting() -> None:
            nonlocal waited
            waited += _LOOK_S
            if owner.is_stopped and waited >= folder.STOPPED_S:
                raise folder.stopped(self.root, owner)
            if waited >= folder.WAIT_S:
                raise folder.locked(self.root, owner)

        try:
            # Whoever refuses at once hangs up without a look at this, and has said why.
            with suppress(wire.PeerGone):
                wire.send(peer, self._hello)
            answer = wire.receive(peer, check_greeting)
        except BaseException:
            peer.close()
            raise
        if isinstance(answer, Failed):
            peer.close()
            raise answer.error()
        self._link = Link(peer, answer, owner)
        state: SessionState = answer.state
        return state

    def _check_owner(self, link: Link) -> None:
        """Give up an owner that has been stopped for too long; raises the error of that."""
        if not link.owner.is_stopped:
            link.stopped_s = 0.0
            return
        link.stopped_s += _LOOK_S
        if link.stopped_s > folder.STOPPED_S:
            raise folder.stopped(self.root, link.owner)

    def _check_retry(
        self,
        before: SessionState,
        operation: str,
        arguments: tuple[Any, ...],
        name: str | None,
        single: bool,
    ) -> None:
        """The owner has died within a call: raise unless the call may be made again."""
        self._hang_up()
        # Only now, for it takes the parser, which a client needs for nothing else.
        from gateway.sharing.lost_calls import contents

        call = contents(operation, arguments, self._hello.dialect, self.state.settings.limits)
        if before.has_written and call.commits:
            raise PalimpsestError(
                Code.OUTCOME_UNKNOWN,
                f"the process that had the warehouse {self.root} open ended during the COMMIT of"
                f" transaction {name}",
                advice="it was committed if system.transactions has a row whose transaction_id is"
                " that",
            )
        if before.is_pinned:
            raise self._lost_error("the open transaction and temporary tables are gone")
        if operation in {"fetch", "track"}:
            raise self.rows_lost()
        if single or call.is_single:
            raise PalimpsestError(
                Code.OUTCOME_UNKNOWN,
                f"the process that had the warehouse {self.root} open ended before it said whether"
                " this was done",
                advice="system.jobs, system.erasures and system.holds tell; repeat it if not",
            )

    def _lost_error(self, why: str) -> PalimpsestError:
        return PalimpsestError(
            Code.OWNER_LOST,
            f"the process that had the warehouse {self.root} open has ended: {why}",
            advice="run the transaction again; committed data is safe",
        )

    def _hang_up(self) -> None:
        """Forget the connection; settings go with the client, the rest is as in a new session."""
        link, self._link = self._link, None
        self._dropped = []
        if link is not None:
            link.peer.close()
            settings = self.state.settings
            self._hello = replace(self._hello, settings=settings)
            self.state = SessionState("idle", False, False, settings)


def _give_up() -> None:
    raise wire.PeerGone("the owner does not answer")


class RemoteCancellation:
    """Stops what a session in another process runs, and says how far it is."""

    def __init__(self, owner: SessionLink) -> None:
        self._owner = owner
        self._lock = threading.Lock()
        self._quiet = threading.Event()
        self._quiet.set()
        self._depth = 0
        self._tracks = False

    @property
    def tracks_progress(self) -> bool:
        """Whether ``progress`` is wanted for what runs next."""
        return self._tracks

    @tracks_progress.setter
    def tracks_progress(self, wanted: bool) -> None:
        self._tracks = wanted
        self._owner.call("track", wanted)

    @contextmanager
    def running(self) -> Iterator[None]:
        """A call of the client is under way; such calls nest."""
        with self._lock:
            self._depth += 1
            self._quiet.clear()
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                if self._depth == 0:
                    self._quiet.set()

    def cancel(self) -> None:
        """Stop the call that is under way, if there is one; returns when it has stopped."""
        for _ in range(20):
            with self._lock:
                if self._depth == 0:
                    return
            self._owner.signal("cancel")
            if self._quiet.wait(0.1):
                return

    def progress(self) -> float | None:
        """How much of the query at hand is done, from 0 to 1; None where that is not known."""
        found = self._owner.signal("progress")
        return None if found is None else float(found)
