"""Turns the policies that a dataset states into a scope of the catalog.

    dataset flights: policies  --submit, update-->  ScopedPolicy(DATASET, flights, pattern)
                               --delete-->          the scope states nothing

The definition and the scope change in one commit of the store: the scope is a change of the
catalog, and the version of the entity is recorded inside that commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from gateway.config import Settings
from gateway.governance.entity import Entity, EntityKind
from journal.model.policy_scope import ScopedPolicy, ScopeKind
from journal.model.store_session import RecordSession
from rewriter.definitions.policies import with_changes
from rewriter.statements.scoped_policies import SetScopedPolicy
from rewriter.syntax.parsing import Parsed
from rewriter.syntax.statements.properties import policy_action

if TYPE_CHECKING:
    from gateway.session.session import Session


Result = TypeVar("Result")


def stated_properties(policies: Mapping[str, str]) -> list[tuple[str, str]]:
    """The properties that rules state, by name with the text that SET POLICY takes.

    Raises POLICY or SYNTAX for a text that is no value of its rule.

    >>> stated_properties({"history": "1 YEAR"})
    [('policy_history', '1 YEAR')]
    """
    return list(with_changes({}, policy_action(policies)).items())


def stated_policy(dataset: Entity) -> ScopedPolicy:
    """What a dataset states; one without policies states nothing."""
    fields = dataset.fields
    pattern = ",".join(fields.get("tables", ())) or escaped_pattern(fields.get("table", ""))
    stated = tuple(stated_properties(fields.get("policies", {})))
    return ScopedPolicy(ScopeKind.DATASET, dataset.name, stated, pattern if stated else "")


def escaped_pattern(table: str) -> str:
    """The pattern that one table has, whatever letters its name is made of."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in table)


def changes_policy(session: Session, dataset: Entity) -> bool:
    """Whether the catalog says something else than a dataset; False for other entities."""
    if dataset.kind is not EntityKind.DATASET:
        return False
    wanted = stated_policy(dataset)
    known = session.journal.state.catalog.policies.get(wanted.key)
    return known != wanted if wanted.properties else known is not None


def commit_with_policy(
    session: Session, entity: Entity, change: Callable[[RecordSession], Result]
) -> Result:
    """Record a change of an entity, and in the same commit what it states of its tables.

    ``change`` records it in the transaction that it is given, and commits nothing.
    """
    if not changes_policy(session, entity):
        with session.journal.exclusive_session() as records:
            result = change(records)
            records.commit()
        return result
    found: list[Result] = []
    put_policy(session, entity, lambda records: found.append(change(records)))
    return found[-1]


def put_policy(session: Session, dataset: Entity, record: Callable[[RecordSession], None]) -> None:
    """Let the catalog say what a dataset states, and record its version in the same commit.

    ``record`` is called inside the commit; what it raises undoes all. Raises what SET POLICY
    refuses: nonsense, a contradiction for one of the tables, a target that is not there.
    """
    wanted, fields = stated_policy(dataset), dataset.fields
    statement = SetScopedPolicy(
        ScopeKind.DATASET,
        exp.table_(exp.to_identifier(dataset.name, quoted=True)),
        policy_action(fields.get("policies", {})),
        pattern=wanted.pattern,
    )
    # Whether the session may declare the dataset was checked before; nobody else is asked.
    own = type(session)(
        *(session.journal, session.executor),
        dialect="duckdb",
        autocommit=True,
        user=session.user,
        settings=Settings(schema=session.settings_at_start.schema),
        retries=session.retries,
    )
    own.proxy = session.proxy
    try:
        own.begin()
        transaction = own.transaction
        assert transaction is not None
        transaction.alongside = lambda records, _version: record(records)
        own.run(Parsed(statement, str(wanted), ()), {}).close()
        own.commit()
    finally:
        own.close()
