"""Memory that two processes see: large messages of an owner lie there, not in the socket.

A socket holds some hundred kilobytes. What is larger goes through it in pieces, and each piece may
wake the process at its other end from sleep: a thousand times for 50 MB, which took two thirds of
the time of a scan where processors sleep deeply. In shared memory a message wakes it once.

The owner writes the n-th large message of an answer into the n-th place, and the client copies it
out before it makes its next call; so no place is written while somebody reads it, and nobody needs
to say that one is free. Without room, or on systems without ``memfd_create``, the socket it is.
"""

from __future__ import annotations

import array
import mmap
import os
import socket
import struct
import sys
from contextlib import suppress

PLACES = 4
"""How many messages of one answer lie in shared memory; the others go through the socket."""
_LEAST = 1 << 18
_MOST = 1 << 26
_STEP = 1 << 20
_FD = struct.Struct("i")


class OutgoingPlaces:
    """The places of an owner for one client; they last as long as the connection."""

    def __init__(self) -> None:
        self._places: dict[int, mmap.mmap] = {}
        self._next = 0

    def begin_answer(self) -> None:
        """The client has read what was sent before."""
        self._next = 0

    def take(self, size: int) -> tuple[int, mmap.mmap, int | None] | None:
        """Where a message of so many bytes goes: number, memory, and a file that is new to the
        client, which the caller closes. None: send it through the socket.
        """
        if self._next >= PLACES or not _LEAST <= size <= _MOST:
            return None
        number, self._next = self._next, self._next + 1
        found = self._places.get(number)
        if found is not None and len(found) >= size:
            return number, found, None
        new = _new_file(-(-size // _STEP) * _STEP)
        if new is None:
            return None
        if found is not None:
            found.close()
        self._places[number] = memory = mmap.mmap(new, 0)
        return number, memory, new

    def close(self) -> None:
        """Let go of the memory."""
        for memory in self._places.values():
            with suppress(BufferError):
                memory.close()
        self._places.clear()


class IncomingPlaces:
    """The places of an owner, as its client sees them."""

    def __init__(self) -> None:
        self._places: dict[int, mmap.mmap] = {}

    def add(self, number: int, file: int) -> None:
        """A place that is new, or has grown; closes the file."""
        try:
            place = mmap.mmap(file, 0, flags=mmap.MAP_SHARED | _POPULATE, prot=mmap.PROT_READ)
        finally:
            os.close(file)
        self._places[number] = place

    def copy(self, number: int, into: memoryview) -> None:
        """Copy the message that lies at a place."""
        with memoryview(self._places[number]) as place:
            into[:] = place[: len(into)]


_POPULATE = getattr(mmap, "MAP_POPULATE", 0)


def send_with_file(peer: socket.socket, data: bytes, file: int) -> None:
    """Send a few bytes, and with them an open file."""
    given = array.array("i", [file])
    sent = peer.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
    if sent < len(data):
        peer.sendall(data[sent:])


def receive_with_file(peer: socket.socket, size: int) -> tuple[bytes, int | None]:
    """At most so many bytes, and the open file that came with them, if one did."""
    data, further, _, _ = peer.recvmsg(size, socket.CMSG_SPACE(_FD.size))
    files = [
        number
        for level, kind, body in further
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        for (number,) in _FD.iter_unpack(body[: len(body) - len(body) % _FD.size])
    ]
    return data, files[0] if files else None


def _new_file(size: int) -> int | None:
    """A file of memory that can neither grow nor shrink; None where there is none to be had."""
    if sys.platform != "linux":
        return None
    import fcntl

    file = -1
    try:
        file = os.memfd_create("palimpsest-rows", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        # All of it now: a page that is missing later would end the process instead of failing.
        os.posix_fallocate(file, 0, size)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    except OSError:
        if file >= 0:
            os.close(file)
        return None
    return file
