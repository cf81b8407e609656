"""Differences between a plain database and the gateway, sorted by their causes.

A record about what the gateway does not set out to do is *internal*, and so is a difference that
its documentation tells. What differs later in the same file is counted under an earlier difference,
"after ..", if it names a thing that the earlier statement makes or changes, or lists what there is
and gives that thing; if it stands in the transaction which that one ended, or names a thing that
was made or changed in it, or in one which that one would have begun; or if the earlier one is a
setting.
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


_CONSEQUENCE = re.compile(
    r"PAL-402|does not exist|PAL-20\d|not found|there is no|unknown|is not supported|"
    r"PAL-211\].* already|"
    r"accepted\ncurrent transaction is aborted",
    re.I,
)
_ENDED = re.compile(r"PAL-40[26]|accepted\ncurrent transaction is aborted", re.I)
_KEPT = re.compile(r"PAL-30\d\]|Constraint Error")
"""How a rule of a table shows in one that has other rows, as an earlier such rule kept them out."""
_NAME = r"(?:\"[^\"]+\"|[\w.]+)"
_MADE = re.compile(
    r"\b(?:TABLE|VIEW|FUNCTION|PROCEDURE|AGGREGATE|TYPE|DOMAIN|SEQUENCE|INDEX|SCHEMA|MACRO|ROLE|"
    r"USER|INTO|UPDATE|COPY|PREPARE|TRUNCATE|DELETE\s+FROM|DECLARE|OPERATOR\s+CLASS)\s+(?:ONLY\s+|"
    rf"CONCURRENTLY\s+)?(?:IF\s+(?:NOT\s+)?EXISTS\s+)?({_NAME}(?:\s*,\s*{_NAME})*)",
    re.I,
)
_ON = re.compile(
    rf"\b(?:TRIGGER|RULE|INDEX|POLICY)\b[^;]*?\b(?:ON|TO)\s+(?:ONLY\s+)?({_NAME})", re.I
)
_NEW_NAME = re.compile(
    rf"\bRENAME\s+TO\s+({_NAME})|^\s*ATTACH\b.*?\bAS\s+({_NAME})"
    r"|^\s*ATTACH\b[^']*'(?:[^']*/)?(\w+)",
    re.I | re.S,
)
"""The name that a statement gives to what there is; what it stands for is lacking without it.

A database that is attached without a name has that of its file.
"""
_READS = re.compile(
    r"^\s*(SELECT\b(?!.*\bINTO\b)|(VALUES|EXPLAIN(?!\s+\(?ANALYZE)|SHOW|FETCH|TABLE)\b)",
    re.I | re.S,
)
_WITH_PARTS = re.compile(r"^\s*CREATE\s+((OR\s+REPLACE\s+)?TRIGGER|SCHEMA)\b", re.I)
_OF_SETTINGS = {
    "set role": re.compile(r"^accepted\n(permission denied|must be owner)|PAL-250\]"),
    "set datestyle": re.compile(r"\bdate(/time)? field\b"),
    "import": re.compile(r"PAL-20\d\]"),
    "use": re.compile(r"PAL-(205|227|301)\]"),
}
"""How differences look that follow from a setting or another database which was refused, or from
tables not read in."""
_LISTS = re.compile(r"^\s*(SHOW|DESCRIBE)\b", re.I)
_BEGINS = re.compile(r"^\s*(BEGIN|START\s+TRANSACTION)\b", re.I)
_CLOSES = re.compile(
    r"^\s*(COMMIT|END|ABORT|ROLLBACK(?!\s+TO)|PREPARE\s+TRANSACTION)\b(?!\s+PREPARED)", re.I
)
_ENDS = re.compile(r"^\s*(COMMIT|END)\b", re.I)
_COMMENTS = re.compile(r"^(\s*/\*.*?\*/|\s*--[^\n]*(\n|$))+", re.S)
_SETS = re.compile(r"^\s*(SET|RESET|PRAGMA)\b", re.I)


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
    _touched: dict[str, Difference] = field(default_factory=dict)
    _in_transaction: set[str] = field(default_factory=set)
    _not_begun: Difference | None = None
    """A BEGIN that differs, until its transaction would end; what it changes follows from it."""

    def add(self, line: int, sql: str, why: str | None, cause: str = "") -> None:
        """Count a record; ``why`` says how it differs, and None that it is alike."""
        sql = _COMMENTS.sub("", sql)
        own = _first(self.internal, sql)
        self.run += 1
        self.internal_run += own is not None
        if _BEGINS.search(sql):
            self._in_transaction.clear()
        self._in_transaction |= things_of(sql)
        if self._not_begun is not None:
            for name in things_of(sql):
                self._touched.setdefault(name, self._not_begun)
        if _CLOSES.search(sql):
            self._not_begun = None
        if why is None:
            return
        first = self._earlier(sql, why)
        if not (first and _ENDED.search(why)):  # It is that one which ended the transaction.
            own = own or _first(self.documented, why)
        cause, internal = own or cause, own is not None
        follows = (
            _CONSEQUENCE.search(why)
            or why.startswith(("rows", "columns", "count", "names", "accepted"))
            or (_KEPT.search(why) and first is not None and _KEPT.search(first.detail))
            or any(looks.search(why) for looks in _OF_SETTINGS.values())
        )
        if own is None and first and follows:
            cause, internal = f"after {first.cause.removeprefix('after ')}", first.internal
        difference = Difference(self.file, line, sql, cause, why[:600], internal)
        self.differences.append(difference)
        if _BEGINS.search(sql):
            self._not_begun = difference
        undone = self._in_transaction if _ENDS.search(sql) and _ENDED.search(why) else set()
        for name in things_of(sql) | undone:
            self._touched.setdefault(name, difference)

    def _earlier(self, sql: str, why: str) -> Difference | None:
        """The difference that a later one may follow from."""
        if _ENDED.search(why) and self.differences:
            return self.differences[-1]
        words = re.findall(r"\w+", f"{sql} {why if _LISTS.search(sql) else ''}".lower())
        named = next((self._touched[word] for word in words if word in self._touched), None)
        for setting, looks in _OF_SETTINGS.items():
            if looks.search(why) and setting in self._touched:
                return self._touched[setting]
        others = (self._touched.get(name) for name in ("set", "set role", "set datestyle"))
        return named or (None if _CONSEQUENCE.search(why) else next(filter(None, others), None))

    def values(self) -> dict[str, object]:
        """The tally as values of JSON."""
        names = Difference.__slots__
        shown = [{name: getattr(d, name) for name in names} for d in self.differences]
        return {"run": self.run, "internal": self.internal_run, "differences": shown}


def things_of(sql: str) -> set[str]:
    """The names of what a statement makes or changes; of a setting a word that no table has."""
    if _SETS.search(sql):
        role = re.search(r"\b(ROLE|AUTHORIZATION)\b", sql, re.I)
        return {"set role" if role else "set datestyle" if "datestyle" in sql.lower() else "set"}
    for words in ("IMPORT", "USE"):
        if re.match(rf"\s*{words}\b", sql, re.I):
            return {words.lower()}
    if _READS.search(sql):
        return set()
    made = list(_MADE.finditer(sql))
    if not _WITH_PARTS.search(sql):  # What a trigger changes and a schema begins with is theirs.
        del made[1:]
    lists = [found[1] for found in (*made, _ON.search(sql)) if found]
    given = _NEW_NAME.search(sql)
    lists += [next(filter(None, given.groups()))] if given else []
    names = {name for listed in lists for name in listed.split(",")}
    return {name.strip().strip('"').split(".")[-1].lower() for name in names} - {"set", "on"}


def _first(patterns: Mapping[str, str], text: str) -> str | None:
    return next((name for name, found in patterns.items() if re.search(found, text, re.I)), None)


def without_quotes(message: str) -> str:
    """The first line of a message without what it quotes, for counting."""
    text = re.sub(r"\(line \d+, column \d+\)|Hint:.*", "", message.split("\n")[0])
    return re.sub(r"\"[^\"]*\"|'[^']*'|\d+(?![\d\]])(?<!PAL-\d\d\d)", "..", text)[:90].strip()
