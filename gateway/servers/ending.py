"""The shutdown of a server, which all its ports share: it has begun, and ends in so long."""

from __future__ import annotations

import time

from journal.model.errors import Code, PalimpsestError


class Ending:
    """Calls may run for ``drain_s`` seconds more once the end has begun."""

    def __init__(self, drain_s: float) -> None:
        self._drain_s = drain_s
        self._at_s: float | None = None

    @property
    def is_begun(self) -> bool:
        """True from the first sign of the end on: nobody is let in any more."""
        return self._at_s is not None

    def begin(self) -> None:
        """The end begins; a second time changes nothing."""
        if self._at_s is None:
            self._at_s = time.monotonic() + self._drain_s

    def check(self) -> None:
        """Raise STORE_LOST for somebody who begins something new after the end has begun."""
        if self.is_begun:
            raise PalimpsestError(
                Code.STORE_LOST, "the server is ending", advice="connect again in a while"
            )

    @property
    def left_s(self) -> float:
        """How many seconds are left."""
        self.begin()
        assert self._at_s is not None
        return max(0.0, self._at_s - time.monotonic())
