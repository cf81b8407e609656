"""What a statement writes in lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.lineage.scripts import TracedStatement
from rewriter.lineage.sources import ColumnSource
from rewriter.lineage.targets import row_sources, targets_by_table


def plain_lines(name: str, traced: TracedStatement) -> Iterator[str]:
    """The values first; what decides about all rows of a table is said once.

    ``name`` is what the statement is called, and begins the lines of its tables.
    """
    if traced.unknown is not None:
        yield f"{name}: unknown: {traced.unknown}"
    for table, written in targets_by_table(traced.targets).items():
        yield f"{name}: writes {table}"
        shared = row_sources(written)
        for target in written:
            own = [s for s in target.sources if s not in shared]
            said = ", ".join(_word(source) for source in own) or "no column"
            unknown = f" (unknown: {target.unknown})" if target.unknown is not None else ""
            yield f"    {target.column} <- {said}{unknown}"
        if shared:
            yield "    rows decided by " + ", ".join(_word(source) for source in sorted(shared))


def _word(source: ColumnSource) -> str:
    how = source.subtype.lower().replace("_", " ")
    masked = ", masked" if source.masking else ""
    return f"{source.table}.{source.column} ({how}{masked})"
