"""Decides whether the data of a dataset's instance is there: flag, rows, producer, commit.

    FLAG      the file of ``flag`` exists
    ROWS      the table has a row for which ``where`` is true
    PRODUCED  the instance of the process that fills it has SUCCEEDED
    WRITTEN   somebody committed to the table after the moment of the instance

A dataset that does not say takes the first that it can: it has a flag, a condition, a process that
fills it. Answers are kept for as long as the table has not changed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_checks import KnownEntities
from gateway.governance.instance_states import InstanceState
from gateway.governance.process_rules import Availability, path_at
from gateway.governance.process_sessions import process_session
from gateway.governance.process_stores import ProcessStores
from gateway.procedures.procedures import find_tables
from gateway.session.operations import Advance, no_progress, operation
from journal.model.effective_policy import effective_policy
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.policy import Policy
from journal.model.schema import Table
from journal.model.version import Version, from_datetime
from journal.records.filled_instances import outputs_of
from journal.transactions.reading import committed_state

if TYPE_CHECKING:
    from gateway.session.session import Session

_LOG = logging.getLogger("palimpsest.processes")
KEPT_MAX = 50_000
PREFETCHED = 200
"""Of how many datasets one query reads what fills them."""
READ_BACK = 50
"""How many periods before the moment that is asked for are read with it."""
KeptAnswers = dict[tuple[str, str, datetime], tuple[Version, bool]]
"""By dataset, condition and moment: for which version of the table what was found."""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What a look asks of a table in another store; 0 and None where there is none."""

    version: Version = 0
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class FilledInstances:
    """Which instances of a dataset between two moments processes have filled, or will."""

    first_at: datetime
    last_at: datetime
    single: dict[datetime, bool]
    spans: list[tuple[datetime, datetime, bool]]

    def add(self, first: datetime, last: datetime, state: str) -> None:
        """Note an instance of a process that fills those from the first to the last."""
        is_done = state == InstanceState.SUCCEEDED
        if first == last:
            self.single[first] = is_done and self.single.get(first, True)
        else:
            self.spans.append((first, last, is_done))

    def is_there(self, moment: datetime) -> bool:
        """Whether an instance was filled, by all that fill it."""
        found = [done for first, last, done in self.spans if first <= moment <= last]
        if moment in self.single:
            found.append(self.single[moment])
        return bool(found) and all(found)


class DatasetAvailability:
    """Answers for one look at a store; ``kept`` are answers of earlier looks.

    ``known`` are the entities that count, ``stores`` those of profiles. Data that cannot be looked
    at, because its store is out of reach or its condition fails, is not there; ``why_not`` says so.
    """

    def __init__(
        self, session: Session, known: KnownEntities, kept: KeptAnswers, stores: ProcessStores
    ) -> None:
        self._session = session
        self._stores = stores
        self._facts: dict[str, Mapping[str, TableFacts]] = {}
        self._away: dict[str, PalimpsestError] = {}
        self._failed: dict[str, PalimpsestError] = {}
        self._known = known
        self._kept = kept
        self._state = committed_state(session.journal)
        self._tables = {str(t.name): t for t in self._state.catalog.tables()}
        self._filled: set[str] | None = None
        self._outputs: dict[str, FilledInstances] = {}
        if len(kept) > KEPT_MAX:
            kept.clear()

    def is_there(self, name: str, moment: datetime) -> bool:
        """Whether the data of a dataset's instance is there."""
        dataset = self._known[EntityKind.DATASET, name]
        match self.availability_of(dataset):
            case Availability.FLAG:
                return Path(path_at(dataset.fields["flag"], moment, dataset.zone)).exists()
            case Availability.PRODUCED:
                return self._is_produced(name, moment)
            case Availability.ROWS:
                return self._has_rows(dataset, moment)
            case _:
                return self.table_version(name) > from_datetime(moment)

    def why_not(self, name: str) -> PalimpsestError | None:
        """Why the data of a dataset cannot be looked at, as far as was asked; None where it can."""
        self._facts_elsewhere(name)
        profile = self._known[EntityKind.DATASET, name].fields.get("profile", "")
        return self._away.get(profile) or self._failed.get(name)

    def table_version(self, name: str) -> Version:
        """The version of the last commit to the table of a dataset; 0 where there is no table."""
        facts = self._facts_elsewhere(name)
        if facts is not None:
            return facts.version
        table = self.table_of(name)
        state = None if table is None else self._state.tables.get(table.id)
        return 0 if state is None else state.last_version

    def table_of(self, name: str) -> Table | None:
        """The table of a dataset; None where it was dropped, or is in another store."""
        fields = self._known[EntityKind.DATASET, name].fields
        return None if "profile" in fields else self._tables.get(fields["table"])

    def policy_of(self, name: str) -> Policy | None:
        """The policy that counts for the table of a dataset; None where there is no table."""
        facts = self._facts_elsewhere(name)
        if facts is not None:
            return facts.policy
        table = self.table_of(name)
        return None if table is None else effective_policy(self._state.catalog, table)

    def has_changes(self, name: str, moments: Iterable[datetime], after: Version) -> bool:
        """Whether somebody changed data of a dataset's instances after a version.

        Of a dataset without ``where`` every change of the table counts.
        """
        dataset = self._known[EntityKind.DATASET, name]
        if self.table_version(name) <= after:
            return False
        if "where" not in dataset.fields:
            return True
        return any(self._exists(dataset, moment, after) for moment in moments)

    def prefetch_produced(self, asked: Mapping[str, tuple[datetime, datetime]]) -> None:
        """Read at once what fills datasets between two moments each, which is asked next."""
        by_first = sorted(asked, key=lambda name: asked[name][0])
        with self._session.journal.reading_session() as records:
            for begin in range(0, len(by_first), PREFETCHED):
                names = by_first[begin : begin + PREFETCHED]
                first = asked[names[0]][0]
                last = max(asked[name][1] for name in names)
                for name in names:
                    self._outputs[name] = FilledInstances(first, last, {}, [])
                for name, begins, ends, state in outputs_of(records, names, first, last):
                    self._outputs[name].add(begins, ends, state)

    def availability_of(self, dataset: Entity) -> Availability:
        fields = dataset.fields
        if "available" in fields:
            return Availability(fields["available"])
        if "flag" in fields:
            return Availability.FLAG
        if "where" in fields:
            return Availability.ROWS
        if self._filled is None:
            processes = (e for e in self._known.values() if e.kind is EntityKind.PROCESS)
            uses = (use for p in processes for use in p.fields.get("outputs", ()))
            self._filled = {use["dataset"] for use in uses}
        return Availability.PRODUCED if dataset.name in self._filled else Availability.WRITTEN

    def _is_produced(self, name: str, moment: datetime) -> bool:
        filled = self._outputs.get(name)
        if filled is None or not filled.first_at <= moment <= filled.last_at:
            times = self._known[EntityKind.DATASET, name].nominal_times
            # Who looks for the latest instance asks for those before it next.
            before = moment - READ_BACK * times.every.longest
            self.prefetch_produced({name: (before, moment)})
            filled = self._outputs[name]
        return filled.is_there(moment)

    def _has_rows(self, dataset: Entity, moment: datetime) -> bool:
        version = self.table_version(dataset.name)
        if not version:
            return False
        key = (dataset.name, dataset.fields["where"], moment)
        before = self._kept.get(key)
        if before is not None and before[0] == version:
            return before[1]
        found = self._exists(dataset, moment)
        if dataset.name not in self._failed:
            self._kept[key] = (version, found)
        return found

    def _exists(self, dataset: Entity, moment: datetime, after: Version | None = None) -> bool:
        """Whether the table has a row, or a change after a version, that the condition takes."""
        if dataset.name in self._failed:
            return False  # Asked once in a look: so one condition does not take all of its time.
        profile = dataset.fields.get("profile")
        try:
            if profile is None:
                return has_row(self._session, no_progress, dataset, moment, after)
            with self._stores.session(profile, again=False) as store:
                return store.perform(has_row, dataset, moment, after)
        except PalimpsestError as error:
            self._failed[dataset.name] = error
            _LOG.warning("%s cannot be looked at: %s", dataset, error)
            return False

    def _facts_elsewhere(self, name: str) -> TableFacts | None:
        """What is known of the table of a dataset in another store; None for one of this store."""
        fields = self._known[EntityKind.DATASET, name].fields
        profile = fields.get("profile")
        if profile is None:
            return None
        if profile not in self._facts:
            self._facts[profile] = self._asked_facts(profile)
        return self._facts[profile].get(fields.get("table", ""), TableFacts())

    def _asked_facts(self, profile: str) -> Mapping[str, TableFacts]:
        datasets = (e.fields for e in self._known.values() if e.kind is EntityKind.DATASET)
        names = {f["table"] for f in datasets if f.get("profile") == profile and "table" in f}
        try:
            with self._stores.session(profile, again=False) as store:
                return store.perform(table_facts, sorted(names))
        except PalimpsestError as error:
            self._away[profile] = error
            _LOG.warning("datasets of profile %s cannot be looked at: %s", profile, error)
            return {}


@operation
def table_facts(session: Session, _advance: Advance, names: Sequence[str]) -> dict[str, TableFacts]:
    """The version and the policy of tables by name; those that are not there are left out."""
    state = committed_state(session.journal)
    found: dict[str, TableFacts] = {}
    for name in names:
        try:
            (table,) = find_tables(session, name)
        except PalimpsestError:
            continue
        states = state.tables.get(table.id)
        version = 0 if states is None else states.last_version
        found[name] = TableFacts(version, effective_policy(state.catalog, table))
    return found


@operation
def has_row(
    session: Session,
    _advance: Advance,
    dataset: Entity,
    moment: datetime,
    after: Version | None = None,
) -> bool:
    """Whether the table of a dataset has a row for which its condition is true at a moment.

    ``after``: whether such a row has changed after that version.
    """
    (table,) = find_tables(session, dataset.fields["table"])
    relation: exp.Expr = _relation(table)
    if after is not None:
        version = exp.Literal.number(after + 1)
        named = [exp.Literal.string(str(table.name)), version]
        relation = exp.Table(this=exp.Anonymous(this="table_changes", expressions=named))
    condition = parsed_condition(dataset.fields["where"])
    query = exp.select(exp.Literal.number(1)).from_(relation).where(condition).limit(1)
    with process_session(session, dataset, "duckdb") as own:
        outcome = own.execute(query.sql(dialect="duckdb"), condition_values(dataset, moment))
        assert outcome.rows is not None
        found = bool(outcome.rows.take(1))
        outcome.close()
    return found


def parsed_condition(text: str) -> exp.Expr:
    """The condition of a dataset; raises ENTITY where it is none."""
    try:
        found = sqlglot.parse_one(text, dialect="duckdb", into=exp.Condition)
        if found.find(exp.Query) is not None:
            # It is asked with the rights of the scheduler.
            raise sqlglot.ParseError("a query")
        return found
    except sqlglot.ParseError as error:
        raise PalimpsestError(
            Code.ENTITY,
            f"where: {text!r} is no condition",
            advice="write one over its columns, without a query: day = CAST($instance AS DATE)",
        ) from error


def condition_values(dataset: Entity, moment: datetime) -> Mapping[str, Any]:
    """The parameters of a dataset's condition: the moment of the instance, and the next one."""
    coming = (m for m in dataset.nominal_times.on_from(moment) if m > moment)
    return {"instance": moment, "next": next(coming, None)}


def check_condition(session: Session, dataset: Entity) -> None:
    """Raise ENTITY for a condition that the dataset's table cannot be asked."""
    if "where" not in dataset.fields or "profile" in dataset.fields:
        return
    (table,) = find_tables(session, dataset.fields["table"])
    condition = parsed_condition(dataset.fields["where"])
    relation = _relation(table)
    query = exp.select(exp.Literal.number(1)).from_(relation).where(condition).limit(0)
    values = condition_values(dataset, dataset.nominal_times.start)
    try:
        with process_session(session, dataset, "duckdb") as own:
            own.execute(query.sql(dialect="duckdb"), values).close()
    except PalimpsestError as error:
        raise PalimpsestError(
            Code.ENTITY, f"{dataset}: where: {error.message}", advice=error.advice
        ) from error


def _relation(table: Table) -> exp.Table:
    name, schema = (
        exp.to_identifier(text, quoted=True) for text in (table.name.name, table.name.schema)
    )
    return exp.table_(name, db=schema)
