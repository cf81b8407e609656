"""Parts: replicas of several sources that together are one table at their target. Pure.

    orders of Zurich  --PARTITION (region = 'zurich')-->  orders_zurich  \\
                                                                          orders, a view
    orders of Berlin  --PARTITION (region = 'berlin')-->  orders_berlin  /

A part says by a property of its definition of which table it is one, and by which value.
"""

from __future__ import annotations

import json
import re

from journal.model.failures import policy_error
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, TableName, fold

REPLICA_PART = "replica_part"
_TEXT = re.compile(r"\(\s*(?P<column>[A-Za-z_]\w*)\s*=\s*'(?P<value>\w{1,40})'\s*\)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Partition:
    """What tells the rows of one source from those of others: a column that is added, its value."""

    column: str
    value: str

    def __str__(self) -> str:
        return f"({self.column} = '{self.value}')"

    @staticmethod
    def parse(text: str) -> Partition:
        """The partition that a policy states; raises POLICY for what cannot be in a name.

        >>> str(Partition.parse("( region = 'zurich' )"))
        "(region = 'zurich')"
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            raise policy_error(
                f"PARTITION cannot be {text}",
                "write PARTITION (region = 'zurich'), with letters, digits and underscores",
            )
        return Partition(found["column"], found["value"])

    @property
    def key(self) -> tuple[str, str]:
        """What two different partitions never share: their names, as names are compared."""
        return fold(self.column), fold(self.value)


@dataclass(frozen=True, slots=True)
class ReplicaPart:
    """Of which table a replica is a part, and which."""

    whole: TableName
    partition: Partition

    @property
    def name(self) -> TableName:
        """What the part is called."""
        return TableName(self.whole.schema, f"{self.whole.name}_{fold(self.partition.value)}")

    @property
    def property(self) -> tuple[str, str]:
        """The property of the part's definition that says so."""
        said = (self.whole.schema, self.whole.name, self.partition.column, self.partition.value)
        return REPLICA_PART, json.dumps(said)


def part_of(table: Table) -> ReplicaPart | None:
    """What a table is a part of; None for one that is whole."""
    said = dict(table.properties).get(REPLICA_PART)
    if said is None:
        return None
    schema, name, column, value = json.loads(said)
    return ReplicaPart(TableName(schema, name), Partition(column, value))
