"""Lines of the log: text for people, or JSON for what gathers logs. Moments are UTC."""

from __future__ import annotations

import json
import logging
import time

FORMATS = ("text", "json")


class TextLines(logging.Formatter):
    """One line: time, level, logger and message."""

    converter = time.gmtime  # type: ignore[assignment]
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")


class JsonLines(logging.Formatter):
    """One object a line: time, level, logger and message, and the fields of the event."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record; ``fields`` of its ``extra`` come as they are."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        found = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False, default=str)


def formatter(form: str) -> logging.Formatter:
    """What makes lines of a form of ``FORMATS``."""
    return JsonLines() if form == "json" else TextLines()
