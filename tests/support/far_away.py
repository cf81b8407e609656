"""A machine that vanishes, for tests: a network of its own, whose only road can be cut.

What crosses it is then lost in silence, as behind a cable that was pulled: nobody is told, and no
connection is closed. Needs root and iproute2; nothing of this machine's own network is changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True, slots=True)
class FarAway:
    """The other network; ``here`` is this machine's address on the road to it."""

    name: str
    here: str
    there: str

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        """Start a process on the other side."""
        inside = ["ip", "netns", "exec", self.name, *command]
        return subprocess.Popen(inside, text=True, stdout=subprocess.PIPE, **options)

    def cut(self) -> None:
        """From now on nothing arrives, in neither direction."""
        _ip("-n", self.name, "route", "add", "blackhole", f"{self.here}/32")
        _ip("route", "add", "blackhole", f"{self.there}/32")


@contextmanager
def far_away() -> Iterator[FarAway]:
    """Another network for a while; skips the test, with the reason, where none can be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("a network of its own needs root and iproute2")
    number = os.getpid() % 60_000
    name, block = f"palimpsest-{number}", f"10.{200 + number // 16_384}.{number // 64 % 256}"
    low = number % 64 * 4
    far = FarAway(name, f"{block}.{low + 1}", f"{block}.{low + 2}")
    made = _ip("netns", "add", name, check=False)
    if made.returncode:
        pytest.skip(f"no network can be made here: {made.stderr.strip()}")
    try:
        ends = f"ph{number}", f"pt{number}"
        _ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1], "netns", name)
        _ip("addr", "add", f"{far.here}/30", "dev", ends[0])
        _ip("link", "set", ends[0], "up")
        _ip("-n", name, "addr", "add", f"{far.there}/30", "dev", ends[1])
        for device in (ends[1], "lo"):
            _ip("-n", name, "link", "set", device, "up")
        yield far
    finally:
        _ip("route", "del", "blackhole", f"{far.there}/32", check=False)
        _ip("netns", "del", name)


def _ip(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done
