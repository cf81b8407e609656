"""Differences between a plain database and the gateway, sorted by their causes.

A record about what the gateway does not set out to do is *internal*, and so is a difference that
its documentation tells. What fails later in the same file because of an earlier difference is
counted under that one: "after ..".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


class Unsuitable(Exception):
    """A file that cannot be run; its text says why."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A record that gives something else through the gateway, and the cause it is counted under."""

    file: str
    line: int
    sql: str
    cause: str
    detail: str
    internal: bool


_CONSEQUENCE = re.compile(r"PAL-402|does not exist|PAL-20\d|not found|there is no|unknown", re.I)


@dataclass(slots=True)
class FileTally:
    """The records of one file: how many were run, how many are internal, and what differs.

    ``internal`` has what is no promise of the gateway, by patterns of the text of a record;
    ``documented`` what its documentation tells, by patterns of how a record differs.
    """

    file: str
    internal: Mapping[str, str]
    documented: Mapping[str, str] = field(default_factory=dict)
    run: int = 0
    internal_run: int = 0
    differences: list[Difference] = field(default_factory=list)

    def add(self, line: int, sql: str, why: str | None, cause: str = "") -> None:
        """Count a record; ``why`` says how it differs, and None that it is alike."""
        own = _first(self.internal, sql)
        self.run += 1
        self.internal_run += own is not None
        if why is None:
            return
        own = own or _first(self.documented, why)
        cause, internal = own or cause, own is not None
        first = next((d for d in self.differences if d.internal or d.cause.startswith("[")), None)
        follows = _CONSEQUENCE.search(why) or why.startswith(("rows", "columns"))
        if own is None and first and follows:
            cause, internal = f"after {first.cause.removeprefix('after ')}", first.internal
        difference = Difference(self.file, line, sql, cause, why[:600], internal)
        self.differences.append(difference)

    def values(self) -> dict[str, object]:
        """The tally as values of JSON."""
        names = Difference.__slots__
        shown = [{name: getattr(d, name) for name in names} for d in self.differences]
        return {"run": self.run, "internal": self.internal_run, "differences": shown}


def _first(patterns: Mapping[str, str], text: str) -> str | None:
    return next((name for name, found in patterns.items() if re.search(found, text, re.I)), None)


def without_quotes(message: str) -> str:
    """The first line of a message without what it quotes, for counting."""
    text = re.sub(r"\(line \d+, column \d+\)|Hint:.*", "", message.split("\n")[0])
    return re.sub(r"\"[^\"]*\"|'[^']*'|\d+(?![\d\]])(?<!PAL-\d\d\d)", "..", text)[:90].strip()
