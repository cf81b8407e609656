"""Whether statements can run: asked of the store in the background, and answered at once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from gateway.errors import Error, mapping
from journal.model.errors import PalimpsestError

_LOG = logging.getLogger("palimpsest.http")
_FRESH_S = 1.0
_PATIENCE_S = 2.0


class Readiness:
    """Asks a store whether it answers, at most once a second and one question at a time."""

    def __init__(self, ask: Callable[[], object]) -> None:
        """``ask`` raises where the store does not answer."""
        self._ask = ask
        self._lock = threading.Lock()
        self._answered_s = 0.0
        self._why = ""
        self._waiting: threading.Thread | None = None
        self.is_ending = False

    def reason_against(self) -> str:
        """Why no statements can run; empty if they can."""
        if self.is_ending:
            return "the server is ending"
        with self._lock:
            if time.monotonic() - self._answered_s < _FRESH_S:
                return self._why
            if self._waiting is None or not self._waiting.is_alive():
                self._waiting = threading.Thread(
                    target=self._question, name="palimpsest-ready", daemon=True
                )
                self._waiting.start()
            waiting = self._waiting
        waiting.join(_PATIENCE_S)
        return "the store does not answer" if waiting.is_alive() else self._why

    def _question(self) -> None:
        try:
            with mapping():
                self._ask()
            self._why = ""
        except (Error, PalimpsestError) as error:
            self._why = f"the store cannot be read: {getattr(error, 'code', '')}"
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing shows that statements run
            _LOG.exception("the store cannot be asked whether it answers")
            self._why = f"the store cannot be read: {type(error).__name__}"
        self._answered_s = time.monotonic()
