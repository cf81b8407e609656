"""Finds which policy counts for a table when several scopes state one. Pure.

    table  >  dataset  >  schema  >  database

Each rule (RETENTION with its column and action, HISTORY, a schedule ..) is decided alone: by the
nearest scope that states it, ``NONE`` included. A rule that does not fit the table reaches nothing,
and no wider scope takes its place: whoever said less of a table shall not remove more of it. Every
job, schedule and check asks here, so what SHOW EFFECTIVE POLICY says is what happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from journal.model.errors import PalimpsestError
from journal.model.failures import policy_error
from journal.model.lazy_dataclass import dataclass
from journal.model.policy import (
    NAMES,
    PREFIX,
    Policy,
    RetentionAction,
    check_archived,
    check_late,
    check_own_policy,
    is_dated,
    is_policy,
    policy_of,
    read_policy,
    rule_of,
    stated_rules,
)
from journal.model.policy_scope import ScopedPolicy, ScopeKind
from journal.model.schema import CatalogSnapshot, Table

_COLUMN = f"{PREFIX}retention_column"
_OF_VIEWS = frozenset({"HISTORY", "VERSIONS", "BACKUP", "MAX_ATTEMPTS", "MAX_CONCURRENCY"})
"""What means something for a materialised view, whose rows are those of its query."""
_UNSTATED = {
    "RETENTION": "rows stay until somebody deletes them",
    "ARCHIVE": "archived rows stay in the store",
    "HISTORY": "superseded versions stay",
    "VERSIONS": "all versions of a key stay",
    "BACKUP": "what jobs replace stays for a day",
    "LATE_ARRIVAL": "rows may be as late as they like",
    "REJECTS": "reject files stay for 30 days",
    "LINEAGE": "lineage stays",
    "REPLICATION": "nothing is copied elsewhere by itself",
    "DEPENDENTS": "REPORT: rows that refer to removed ones are counted",
    "MAX_ATTEMPTS": "3 attempts",
    "MAX_CONCURRENCY": "as many jobs as there are",
}
"""What holds where no scope states a rule."""


@dataclass(frozen=True, slots=True)
class EffectiveRule:
    """One rule of a table: its value, the scope that decides it, and why; None: no scope does.

    ``reaches`` is False where the rule does not fit the table, so that it has no effect.
    """

    name: str
    value: str | None
    scope: ScopeKind | None
    source: str | None
    why: str
    reaches: bool = True


def effective_policy(catalog: CatalogSnapshot, table: Table) -> Policy:
    """The policy of a table that jobs enforce: its own, and what wider scopes state besides."""
    wider = scopes_of(catalog, table)
    if not wider:
        return policy_of(table)
    taken: dict[str, str] = {}
    for rule, scope, _ in _decided(table, wider):
        if _why_not(table, rule, scope) is None:
            stated = {n: v for n, v in scope.properties if is_policy(n) and rule_of(n) == rule}
            taken |= stated if scope.kind is ScopeKind.TABLE else _physical(table, stated)
    found = read_policy(taken)
    archives = found.action is RetentionAction.ARCHIVE and found.retention is not None
    return found if archives or found.archive is None else replace(found, archive=None)


def effective_rules(catalog: CatalogSnapshot, table: Table) -> list[EffectiveRule]:
    """Each rule of a table, with the scope that decides it; rules that none states come last."""
    wider, found = scopes_of(catalog, table), []
    action = effective_policy(catalog, table).action
    for rule, scope, others in _decided(table, wider):
        value = dict(_texts(table, scope))[rule]
        why_not = _why_not(table, rule, scope)
        if rule == "ARCHIVE" and value != "NONE" and action is not RetentionAction.ARCHIVE:
            why_not = "no rule archives rows of the table"
        if why_not is None:
            why = f"stated by {scope}" if scope.kind is not ScopeKind.TABLE else "stated by itself"
        else:
            why = f"without effect: {why_not}"
        if others:
            shown = (f"{other} ({dict(_texts(table, other))[rule]})" for other in others)
            why += "; it is nearer than " + ", ".join(shown)
        source = str(table.name) if scope.kind is ScopeKind.TABLE else scope.name or None
        found.append(EffectiveRule(rule, value, scope.kind, source, why, why_not is None))
    stated = {rule.name for rule in found}
    for name, what in _UNSTATED.items():
        if name not in stated:
            found.append(EffectiveRule(name, None, None, None, f"no scope states it: {what}"))
    return found


def scopes_of(catalog: CatalogSnapshot, table: Table) -> list[ScopedPolicy]:
    """The scopes wider than a table that state policies for it, the nearest first."""
    if not catalog.policies or catalog.is_own(table.name):
        return []
    found = [scope for scope in catalog.policies.values() if scope.covers(table.name)]
    return sorted(found, key=lambda scope: scope.nearness_to(table.name))


def check_effective_policy(catalog: CatalogSnapshot, table: Table) -> None:
    """Raise POLICY where what a table and its scopes state is nonsense or contradicts itself."""
    check_own_policy(table)
    found = effective_policy(catalog, table)
    check_late(found)
    check_archived(found, policy_of(table).archive)


def check_still_reached(catalog: CatalogSnapshot, old: Table, new: Table) -> None:
    """Raise POLICY where a change takes away the column by which a wider scope dates the rows."""
    before, after = (
        next((r for r in effective_rules(catalog, t) if r.name == "RETENTION"), None)
        for t in (old, new)
    )
    if before is None or after is None or not before.reaches or after.reaches:
        return
    scope = f"{after.scope} {after.source or ''}".rstrip()
    raise policy_error(
        f"{new.name} would be out of reach of the RETENTION that {scope} states",
        "give the table a RETENTION of its own first, or RETENTION = NONE to keep its rows",
    )


def unreached(catalog: CatalogSnapshot, table: Table) -> list[str]:
    """What to tell whoever makes a table, or sets a policy: rules of scopes that do not fit it."""
    found: list[str] = []
    for rule in effective_rules(catalog, table):
        if not rule.reaches and rule.scope is not ScopeKind.TABLE and rule.name == "RETENTION":
            scope = f"{rule.scope} {rule.source or ''}".rstrip()
            why = rule.why.split("; ")[0].removeprefix("without effect: ")
            found.append(f"RETENTION of {scope} does not reach {table.name}: {why}")
    return found


def _decided(
    table: Table, wider: list[ScopedPolicy]
) -> Iterator[tuple[str, ScopedPolicy, list[ScopedPolicy]]]:
    """Each rule that is stated, the scope that decides it, and the wider ones that state it too."""
    own = ScopedPolicy(ScopeKind.TABLE, str(table.name), table.properties)
    stating: dict[str, list[ScopedPolicy]] = {}
    for scope in (own, *wider):
        for rule in dict.fromkeys(rule_of(n) for n, _ in scope.properties if is_policy(n)):
            stating.setdefault(rule, []).append(scope)
    names = [rule_of(f"{PREFIX}{name}") for name in NAMES]
    for rule in sorted(stating, key=lambda r: (names.index(r) if r in names else len(names), r)):
        first, *others = stating[rule]
        yield rule, first, others


def _texts(table: Table, scope: ScopedPolicy) -> list[tuple[str, str]]:
    if scope.kind is not ScopeKind.TABLE:
        return stated_rules(scope.properties)
    return stated_rules(scope.properties, {c.physical: c.name for c in table.columns})


def _why_not(table: Table, rule: str, scope: ScopedPolicy) -> str | None:
    """Why a rule of a wider scope has no effect on a table; None where it has."""
    if scope.kind is ScopeKind.TABLE:
        return None
    if table.materialized is not None and rule not in _OF_VIEWS and not rule.startswith("SCHEDULE"):
        return "the rows of a materialized view are those of its query"
    named = next((v for n, v in scope.properties if n == _COLUMN), None)
    if rule != "RETENTION" or named is None:
        return None
    column = table.find(named)
    if column is None:
        return f'it has no column "{named}"'
    return None if is_dated(column) else f'its column "{column.name}" is {column.type}, no date'


def _physical(table: Table, stated: Mapping[str, str]) -> dict[str, str]:
    """Properties of a wider scope with the column of this table that they name."""
    found = dict(stated)
    column = table.find(found[_COLUMN]) if _COLUMN in found else None
    if column is not None:
        found[_COLUMN] = column.physical
    return found


def why_contradicting(catalog: CatalogSnapshot, table: Table) -> PalimpsestError | None:
    """What ``check_effective_policy`` would raise, with the table's name; None: nothing."""
    try:
        check_effective_policy(catalog, table)
    except PalimpsestError as error:
        return policy_error(
            f"for {table.name} {error.message}",
            f"SHOW EFFECTIVE POLICY {table.name} says where each rule comes from; {error.advice}",
        )
    return None
