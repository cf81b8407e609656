"""Where notifications go: URLs of Apprise from a file, one a line. Apprise is imported in here."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from gateway.notifications.messages import EventMessage
from journal.model.errors import Code, PalimpsestError

_NAME_LENGTH = 16


class NotificationChannel(Protocol):
    """One place to send to; ``name`` shows no secret."""

    @property
    def name(self) -> str:
        """A digest that the place has as long as its URL stays."""

    @property
    def service(self) -> str:
        """What kind of place it is, for the log."""

    def send(self, message: EventMessage) -> bool:
        """Send a message; False where it did not get there."""


class AppriseChannel:
    """One URL of Apprise."""

    def __init__(self, url: str) -> None:
        """Raises SETTING_VALUE for what is no URL of Apprise; the error does not show it."""
        with warnings.catch_warnings():
            # What it imports of Python, Python will not have for ever.
            warnings.simplefilter("ignore", DeprecationWarning)
            apprise = importlib.import_module("apprise")
            made = apprise.Apprise()
            is_taken = made.add(url)
        self.name = hashlib.sha256(url.encode()).hexdigest()[:_NAME_LENGTH]
        self.service = url.partition("://")[0]
        self._failure, self._info = apprise.NotifyType.FAILURE, apprise.NotifyType.INFO
        self._text = apprise.NotifyFormat.TEXT
        self._apprise = made
        if not is_taken:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"a URL for notifications ({self.service}://..) is none that Apprise takes",
                advice="see https://appriseit.com/services/ for the form of each service",
            )

    def send(self, message: EventMessage) -> bool:
        """Send a message; False where it did not get there."""
        kind = self._failure if message.is_failure else self._info
        sent = self._apprise.notify(
            body=message.body, title=message.title, notify_type=kind, body_format=self._text
        )
        return bool(sent)


def channels_of(file: Path) -> Sequence[NotificationChannel]:
    """The channels that a file lists; lines with ``#`` and empty ones say nothing.

    Raises SETTING_VALUE for a file without URLs, and DRIVER_MISSING without the extra ``notify``.
    """
    if importlib.util.find_spec("apprise") is None:
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            "notifications need the package apprise",
            advice="pip install 'palimpsest-gateway[notify]'",
        )
    # It logs what it sends where, with the secrets of URLs.
    logging.getLogger("apprise").setLevel(logging.CRITICAL)
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise PalimpsestError(
            Code.SETTING_VALUE, f"{file} cannot be read: {error}", advice="give a text file"
        ) from error
    urls = list(dict.fromkeys(line for line in lines if line and not line.startswith("#")))
    if not urls:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{file} lists no URL",
            advice="write one a line: mailto://.., json://..",
        )
    return [AppriseChannel(url) for url in urls]
