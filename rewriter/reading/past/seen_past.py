"""The past of a table as a role sees it, for what compares versions of its rows.

Policies stand between the journal and whatever is made of these relations, so a masked value that
changes behind its mask has not changed, and a row that is hidden for a while is gone for it. Keys
are compared as they are stored. Pure: AST in, AST out.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.sql.relations import Output, column
from rewriter.reading.past.history import END, START, Past, aliased
from rewriter.reading.policies.security import RowSecurity, raw_name


@dataclass(frozen=True, slots=True)
class SeenPast:
    """The past of a table as a role sees it; ``policies`` None: all of it."""

    past: Past
    policies: RowSecurity | None

    @property
    def table(self) -> Table:
        """Whose past it is."""
        return self.past.table

    @property
    def keys(self) -> list[str]:
        """What the key columns are called here as they are stored: masked ones stand apart."""
        hidden = frozenset() if self.policies is None else self.policies.masked
        keys = [self.table.by_physical(physical) for physical in self.table.key]
        return [raw_name(k.physical) if k.physical in hidden else k.name for k in keys]

    def row_versions(self) -> exp.Query:
        """Each row version with ``START`` and ``END``, stored columns by name, and ``keys``."""
        rows = self.past.intervals().subquery("i")
        outputs = [*((c.physical, c.name) for c in self.table.stored), (START, START), (END, END)]
        query = exp.select(*[aliased(column(old, "i"), new) for old, new in outputs]).from_(rows)
        return self._as_shown(query)

    def current_rows(self) -> exp.Query:
        """The current rows with ``START``, stored columns by name, and ``keys``."""
        table = self.table
        outputs: list[Output] = [(column(c.physical), c.name) for c in table.stored]
        outputs.append((column(table.format.version_column), START))
        return self._as_shown(self.past.current(outputs))

    def _as_shown(self, query: exp.Query) -> exp.Query:
        if self.policies is None:
            return query
        masked = [c for c in self.table.stored if c.physical in self.policies.masked]
        keys = [c for c in masked if c.physical in self.table.key]
        return self.policies.shown_rows(query, query.named_selects, keys)
