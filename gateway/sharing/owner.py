"""The owner's end of sharing: it listens in the folder and gives each client a session.

listen --client--> a thread and a session each
close:  no new clients --> idle ones are told to move --> transactions end --> sockets go
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gateway.session.session import Session
from gateway.sharing import folder, wire
from gateway.sharing.messages import PROTOCOL, Failed, Hello, Signal
from gateway.sharing.served import ServedSession, shut
from gateway.version import VERSION
from journal.model.errors import PalimpsestError

_POLL_S = 0.02
_NOTICE_S = 1.0
_HELLO_S = 10.0
_SEND_BYTES = 4 << 20


class OwnerServer:
    """Serves a warehouse that this process has open to the other programs of its user."""

    def __init__(
        self, root: Path, open_session: Callable[[Hello], Session], unused: Callable[[], None]
    ) -> None:
        """``unused`` is called, in a thread of its own, after the last client has left."""
        self._open_session = open_session
        self._unused = unused
        self._root = root
        self._listener = folder.listen(root)
        self._clients: dict[str, ServedSession] = {}
        self._lock = threading.Lock()
        self._closes = False
        thread = threading.Thread(target=self._accept, name="palimpsest-owner", daemon=True)
        thread.start()

    @property
    def clients(self) -> int:
        """How many sessions of other processes there are."""
        with self._lock:
            return len(self._clients)

    def close(self) -> None:
        """Serve on until no client holds a transaction; then nobody is connected any more.

        Ctrl-C ends that, and with it the transactions.
        """
        self._closes = True
        shut(self._listener)
        self._listener.close()
        (self._root / folder.SOCKET_FILE).unlink(missing_ok=True)
        try:
            self._wait_for_clients()
        except KeyboardInterrupt:
            for client in self._sessions():
                client.stop()
        while self.clients:
            time.sleep(_POLL_S)

    def abandon(self) -> None:
        """In a forked child: the sockets are the parent's."""
        os.close(self._listener.detach())

    def _wait_for_clients(self) -> None:
        began, is_said = time.monotonic(), False
        while busy := [c for c in self._sessions() if not c.leave_if_idle()]:
            if not is_said and time.monotonic() - began > _NOTICE_S:
                is_said = True
                sys.stderr.write(
                    f"palimpsest: waiting for {len(busy)} transactions of other programs on"
                    f" {self._root}; Ctrl-C rolls them back\n"
                )
            time.sleep(_POLL_S)

    def _sessions(self) -> list[ServedSession]:
        with self._lock:
            return list(self._clients.values())

    def _accept(self) -> None:
        while not self._closes:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self._serve, args=(peer,), name="palimpsest-client", daemon=True
            ).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer:
            try:
                if folder.user_of(peer) not in {os.geteuid(), 0}:
                    raise folder.not_shared(
                        self._root, "it belongs to another user", _this_process()
                    )
                peer.settimeout(_HELLO_S)
                first = wire.receive(peer, _raise_silent_client)
                peer.settimeout(None)
                if isinstance(first, Signal):
                    self._signal(peer, first)
                else:
                    self._serve_session(peer, first)
            except wire.PeerGone:
                pass
            except PalimpsestError as error:
                _refuse(peer, error)

    def _serve_session(self, peer: socket.socket, hello: Hello) -> None:
        if (hello.protocol, hello.version) != (PROTOCOL, VERSION):
            raise folder.not_shared(
                self._root,
                f"it runs version {VERSION} of palimpsest, and this is {hello.version}",
                _this_process(),
            )
        # As much as the system allows: each wait for the client to read costs two switches.
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        served = ServedSession(peer, self._open_session(hello), lambda: self._closes)
        name = f"process {folder.process_of(peer)}"
        served.session.activity.describe("python", name, terminate=served.stop)
        with self._lock:
            self._clients[served.key] = served
        try:
            served.serve(os.getpid())
        finally:
            with self._lock:
                del self._clients[served.key]
                is_last = not self._clients and not self._closes
            if is_last:
                self._unused()

    def _signal(self, peer: socket.socket, signal: Signal) -> None:
        with self._lock:
            served = self._clients.get(signal.key)
        if served is None:
            wire.send(peer, None)
        elif signal.kind == "cancel":
            served.session.cancel()
            wire.send(peer, None)
        else:
            wire.send(peer, served.session.cancellation.progress())


def _raise_silent_client() -> None:
    raise wire.PeerGone("the client said nothing")


def _refuse(peer: socket.socket, error: PalimpsestError) -> None:
    with suppress(wire.PeerGone):
        wire.send(peer, Failed.of(error, None))


def _this_process() -> folder.Owner:
    return folder.Owner(os.getpid(), process_name())


def process_name() -> str:
    """What the process is called, for people: its program and first argument."""
    return " ".join([Path(sys.argv[0] or "python").name, *sys.argv[1:2]])
