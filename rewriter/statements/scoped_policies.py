"""Statements about policies of more than one table, as recognised from their tokens. Values."""

from __future__ import annotations

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.policy_scope import ScopeKind


@dataclass(frozen=True, slots=True)
class SetScopedPolicy:
    """ALTER SCHEMA s or ALTER DATABASE [name] SET POLICY (..) | UNSET POLICY [(..)].

    ``name`` is that of the schema or database, None for the database of the session; ``action``
    holds a property for each rule, without a value where it is to go. The gateway makes one of kind
    DATASET for what a declared dataset states; ``pattern`` says of which tables it is made.
    """

    kind: ScopeKind
    name: exp.Table | None
    action: exp.AlterSet
    exists: bool = False
    pattern: str = ""
