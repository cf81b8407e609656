"""Lines of a server's log: text for people, or JSON for what gathers logs."""

from __future__ import annotations

import json
import logging
import time

FORMATS = ("text", "json")


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


def configure_log(form: str) -> None:
    """Have all log lines of the process written to standard error in a form of ``FORMATS``."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonLines()
        if form == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger("palimpsest").setLevel(logging.INFO)
