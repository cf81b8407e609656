"""What is logged and in which form: one configuration for commands, programs and servers.

    option > PALIMPSEST_LOG_LEVEL, .. > [log] of the file palimpsest.toml > default

The loggers are ``palimpsest`` and those below it. Lines have no values of statements.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from gateway.activity.log_lines import FORMATS, formatter
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

LEVELS = ("debug", "info", "warning", "error")
CONFIG = "PALIMPSEST_CONFIG"
_VARIABLES = {
    "level": "PALIMPSEST_LOG_LEVEL",
    "form": "PALIMPSEST_LOG_FORMAT",
    "slow_s": "PALIMPSEST_SLOW_STATEMENT",
}
_KEYS = {"level": "level", "format": "form", "slow-statement": "slow_s"}
_SLOW_MAX_S = 86_400.0


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What one place says of the log; None where it says nothing.

    - ``level``: the least level that is written, one of ``LEVELS``.
    - ``form``: ``text`` or ``json``.
    - ``slow_s``: statements that take longer, in seconds, are logged as warnings.

    Raises SETTING_VALUE for what it cannot be.
    """

    level: str | None = None
    form: str | None = None
    slow_s: float | None = None

    def __post_init__(self) -> None:
        for name, value, known in (("level", self.level, LEVELS), ("form", self.form, FORMATS)):
            if value is not None and value not in known:
                raise _setting_error(f"the {name} of the log cannot be {value!r}", ", ".join(known))
        if self.slow_s is not None and not 0 <= self.slow_s <= _SLOW_MAX_S:
            raise _setting_error(
                f"a slow statement cannot take {self.slow_s} s", "0 to 86400 seconds"
            )

    def with_defaults(self, other: LogSettings) -> LogSettings:
        """These settings, and another's where these say nothing."""
        pairs = ((getattr(self, n), getattr(other, n)) for n in ("level", "form", "slow_s"))
        return LogSettings(*(theirs if ours is None else ours for ours, theirs in pairs))


def settings_around(environment: Mapping[str, str] = os.environ) -> LogSettings:
    """What the environment says, and below it the file that PALIMPSEST_CONFIG names."""
    given = {n: environment[v] for n, v in _VARIABLES.items() if environment.get(v)}
    path = environment.get(CONFIG)
    below = LogSettings() if not path else settings_of_file(Path(path))
    return _settings(given).with_defaults(below) if given else below


def settings_of_file(path: Path) -> LogSettings:
    """The table ``[log]`` of a file palimpsest.toml; its other tables are of others."""
    import tomllib

    try:
        with path.open("rb") as handle:
            table = tomllib.load(handle).get("log", {})
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise _setting_error(f"{path} cannot be read: {error}", "a file of TOML") from error
    unknown = [k for k in table if k.replace("_", "-") not in _KEYS]
    if unknown:
        raise _setting_error(f"[log] of {path} has the key {unknown[0]}", ", ".join(_KEYS))
    return _settings({_KEYS[k.replace("_", "-")]: v for k, v in table.items()})


def _settings(given: Mapping[str, Any]) -> LogSettings:
    slow = given.get("slow_s")
    try:
        seconds = None if slow is None else float(slow)
    except ValueError as error:
        raise _setting_error(
            f"a slow statement cannot take {slow!r} s", "0 to 86400 seconds"
        ) from error
    return LogSettings(given.get("level"), given.get("form"), seconds)


def _setting_error(message: str, known: str) -> PalimpsestError:
    return PalimpsestError(Code.SETTING_VALUE, message, advice=f"it may be: {known}")


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is at the moment."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """Where lines go."""
        return sys.stderr


def write_log(settings: LogSettings, logger: logging.Logger) -> None:
    """Have the lines of a logger, and of those below it, written to standard error.

    Statements of warehouses that are opened from now on are slow as ``settings`` say.
    """
    for known in list(logger.handlers):
        if isinstance(known, _StandardError):
            logger.removeHandler(known)
    handler = _StandardError()
    handler.setFormatter(formatter(settings.form or "text"))
    logger.addHandler(handler)
    logging.getLogger("palimpsest").setLevel((settings.level or "warning").upper())
    _Chosen.slow_s = settings.slow_s


def write_program_log(settings: LogSettings) -> None:
    """Write the log of the gateways in a program that does not configure logging by itself."""
    logger = logging.getLogger("palimpsest")
    logger.propagate = False
    write_log(settings.with_defaults(settings_around()), logger)


class _Chosen:
    """What this process has chosen; see ``slow_statement_s``."""

    slow_s: float | None = None


def slow_statement_s() -> float | None:
    """From how many seconds on a statement is logged; None: it never is."""
    return settings_around().slow_s if _Chosen.slow_s is None else _Chosen.slow_s
