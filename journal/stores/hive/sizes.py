"""Asks Spark how many folders and bytes a query over segments would read.

    EXPLAIN COST SELECT 1 FROM .. WHERE palimpsest_segment IN (..) UNION ALL SELECT 1 FROM ..

Spark lists the files for that as it does for a query, and remembers them for its session, so what
it tells is what the next query of the same session reads. Bytes are rounded to five digits or so:
segments are asked about together with such of about as many rows, so that none is lost in the
rounding. Builds text and reads answers; runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.sql.relations import column, union_all
from journal.stores.hive import layout
from journal.stores.hive.partition_pruning import Needed

_BYTES = re.compile(r"^\W*Relation .*\bStatistics\(sizeInBytes=([^,)]+)", re.MULTILINE)
_FOLDERS = re.compile(r"\bLocation: \w+\((\d+) paths\)")


@dataclass(frozen=True, slots=True)
class Group:
    """Segments of one table, of about as many rows each."""

    table: str
    segments: frozenset[str]
    rows: int
    """So many are listed of all of them; 0 where that is not known."""

    @property
    def paths(self) -> list[str]:
        """The segments as manifests name them."""
        return [f"{self.table}/{segment}" for segment in sorted(self.segments)]


@dataclass(frozen=True, slots=True)
class Size:
    """What a session reads of a group, as it tells it."""

    folders: int
    bytes: str


def segment_groups(wanted: Needed, listed: Mapping[str, int]) -> list[Group]:
    """Segments put into groups; ``listed`` are their rows by path, as far as they are known."""
    found: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for table, segments in wanted.items():
        for segment in segments:
            rows = listed.get(f"{table}/{segment}", 0)
            found.setdefault((table, len(str(rows))), []).append((segment, rows))
    return [
        Group(table, frozenset(s for s, _ in group), sum(rows for _, rows in group))
        for (table, _), group in found.items()
    ]


def question(names: layout.Names, groups: Iterable[Group]) -> exp.Query:
    """The query whose EXPLAIN COST tells the sizes of groups; ``read_sizes`` reads the answer."""
    found: list[exp.Query] = []
    for group in groups:
        rows = layout.rows_of(names, group.paths)
        rows.set("expressions", [exp.Literal.number(1)])
        found.append(rows)
    return union_all(found)


def read_sizes(rows: Iterable[Sequence[object]], groups: Sequence[Group]) -> dict[Group, Size]:
    """The sizes of groups; none where the server has explained it in another form."""
    text = "\n".join(str(row[0]) for row in rows)
    sizes, folders = _BYTES.findall(text), _FOLDERS.findall(text)
    if not len(sizes) == len(folders) == len(groups):
        return {}
    found = map(Size, map(int, folders), sizes)
    return dict(zip(groups, found, strict=True))


def count(names: layout.Names, group: Group) -> exp.Query:
    """The rows of each segment of a group that has any."""
    rows = layout.rows_of(names, group.paths)
    rows.set("expressions", [column(layout.PARTITION), exp.Count(this=exp.Star())])
    return rows.group_by(column(layout.PARTITION))
