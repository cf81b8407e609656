"""What a rewrite may know: the catalog, the journals' tiers, and the session's settings.

A frozen value; with the same context the same AST gives the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Protocol

from sqlglot import exp

from journal.model.access import Rights
from journal.model.capabilities import Capabilities
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import PointRequest
from journal.model.schema import DEFAULT_SCHEMA, CatalogSnapshot, Reference, Table, TableName, fold
from journal.model.segment import Tier
from journal.model.version import Version
from rewriter.dialect_semantics import DEFAULT_QUERY_SETTINGS, QuerySettings, semantics_of
from rewriter.limits import DEFAULT_LIMITS, Limits


@dataclass(frozen=True, slots=True)
class TableScanInfo:
    """What a statement sees of one journal: tiers with rows, and whether others wrote since.

    ``by_file`` holds the sealed tiers in which a row can be looked up file by file; ``placed``
    says that it is known at which positions sealed rows have ended, and that there is no buffer.
    ``masks`` are the lists of keys that hide rows, and it ``spares`` rows if others would but for a
    legal hold. A materialised view ``is_redefined`` if others refreshed it since the snapshot.
    """

    tiers: frozenset[Tier]
    pinned: bool
    by_file: frozenset[Tier] = frozenset()
    placed: bool = False
    masks: tuple[str, ...] = ()
    spares: bool = False
    is_redefined: bool = False

    @property
    def finds_by_filter(self) -> bool:
        """Whether rows that hold some value can be read from some of the sealed files.

        A closing row holds the values of the row that it ends, so files without the value have
        neither rows that are asked for, nor rows that end such.
        """
        return bool(self.by_file) and self.by_file >= self.tiers & {Tier.BASE, Tier.DELTA}


class PlanForm(StrEnum):
    """Which plan of a statement is wanted."""

    FULL = "full"
    """Each constraint has a guard of its own, which says what is wrong."""
    OPTIMISTIC = "optimistic"
    """One step where few rows change; it fails without saying why."""
    FROM_CACHE = "from cache"
    """As optimistic, and given the rows that it looks up by key."""
    CAREFUL = "careful"
    """As full; what a client asks of rows is asked of none that has ended."""


class ScanInfos(Protocol):
    """Looks up a journal's ``TableScanInfo``."""

    def __call__(self, table_id: int) -> TableScanInfo:
        """The scan information of the table with this id."""


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A point in time: its version, the catalog then, and every catalog up to the present."""

    version: Version
    catalog: CatalogSnapshot
    history: tuple[tuple[Version, CatalogSnapshot], ...] = ()

    def created_at(self, name: TableName) -> Version | None:
        """When a table or view of that name first appeared after this point."""
        return next((v for v, c in self.history if v > self.version and c.get(name)), None)


class Times(Protocol):
    """Finds the version and the catalog of a point in time."""

    def __call__(self, request: PointRequest) -> TimePoint:
        """The point that is meant."""


def no_times(request: PointRequest) -> TimePoint:
    """Finds no points in time: for rewrites without a store."""
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        f"the point in time {request.text} cannot be found without a store",
        advice="connect to a warehouse",
        position=request.position,
    )


def no_scan_info(table_id: int) -> TableScanInfo:
    """For those who read definitions alone, and no rows."""
    raise AssertionError(table_id)


class Describe(Protocol):
    """Finds the columns of a query that has been rewritten; ``tables`` are the ids it reads."""

    def __call__(self, query: exp.Query, tables: frozenset[int]) -> tuple[tuple[str, str], ...]:
        """Name and type of each column."""


def no_describe(query: exp.Query, tables: frozenset[int]) -> tuple[tuple[str, str], ...]:
    """For rewrites without a store, which cannot know the types of expressions."""
    raise PalimpsestError(
        Code.NOT_SUPPORTED,
        "the columns of a query cannot be found without a store",
        advice="connect to a warehouse",
    )


class SettingValues(Protocol):
    """Finds what a setting of the session is."""

    def __call__(self, name: str) -> str | None:
        """The value as ``current_setting`` shows it; raises UNKNOWN_SETTING."""


def no_settings(name: str) -> str | None:
    """For rewrites without a session."""
    raise PalimpsestError(
        Code.UNKNOWN_SETTING,
        f'the setting "{name}" cannot be known without a session',
        advice="connect to a warehouse",
    )


class Dropped(Protocol):
    """Finds a table that was dropped."""

    def __call__(self, name: TableName) -> Table | None:
        """The last definition of the table that had this name last, or None."""


def none_dropped(name: TableName) -> Table | None:
    """For rewrites without a store, which know no past."""
    return None


class Varied(Protocol):
    """Finds the columns of a table, as stored, that have nearly as many values as rows."""

    def __call__(self, table_id: int) -> frozenset[str]:
        """Those that are known; a hint, on which no answer depends."""


def none_varied(table_id: int) -> frozenset[str]:
    """For rewrites without a store, which know nothing of values."""
    return frozenset()


@dataclass(frozen=True, slots=True)
class RewriteContext:
    """See the module's head. ``as_of`` is the session's own point in time, as text.

    ``path`` are the schemas in which names are looked up that give none, where there are several;
    new relations go to ``default_schema``, the first of them that is there, else the home schema in
    dialects that search it.
    ``session_schema`` is that of the session where names are looked up in another: in a view.

    ``form`` is that of the plan. ``capabilities`` are those of the store. ``job_kinds`` names the
    jobs a policy may schedule; where it names none, any is taken. ``is_profile`` says whether a
    profile of that name is declared. ``query_settings`` say what a
    query of the session means, ``settings`` what ``current_setting`` shows.
    ``deferred`` are foreign keys, each by its table's id and its name, that COMMIT checks.
    ``claims``: the client ends the transaction, so that rows can be claimed until then.
    ``role`` is that of the client, None for one who may do everything.
    ``snapshot`` is the version that the statement reads. ``kinds`` are those of the values that the
    parameters have, by their names, where they are no texts: ``reading/equal_keys``. ``varied`` are
    columns of a table, as stored, that have nearly as many values as rows, as far as is known.
    """

    catalog: CatalogSnapshot
    scan_info: ScanInfos
    dialect: str = "duckdb"
    default_schema: str = DEFAULT_SCHEMA
    path: tuple[str, ...] = ()
    session_schema: str = ""
    times: Times = no_times
    as_of: str | None = None
    describe: Describe = no_describe
    dropped: Dropped = none_dropped
    new_table_id: int = 0
    batch: bool = False
    form: PlanForm = PlanForm.FULL
    capabilities: Capabilities = field(default_factory=Capabilities)
    job_kinds: Callable[[], Sequence[str]] = tuple
    is_profile: Callable[[str], bool] = bool
    limits: Limits = DEFAULT_LIMITS
    query_settings: QuerySettings = DEFAULT_QUERY_SETTINGS
    settings: SettingValues = no_settings
    deferred: frozenset[tuple[int, str]] = frozenset()
    claims: bool = False
    role: int | None = None
    snapshot: int = 0
    kinds: frozenset[tuple[str, str]] = frozenset()
    varied: Varied = none_varied

    def __post_init__(self) -> None:
        if self.path:
            there = (s for s in self.path if fold(s) in self.catalog.schemas)
            is_home = semantics_of(self.dialect).searches_home
            last = self.catalog.home if is_home else self.path[0]
            object.__setattr__(self, "default_schema", next(there, last))

    @property
    def rights(self) -> Rights:
        """What the client may do."""
        return self.catalog.rights_of(self.role)

    @property
    def optimistic(self) -> bool:
        """True for plans that may fail without saying why."""
        return self.form in {PlanForm.OPTIMISTIC, PlanForm.FROM_CACHE}

    @property
    def careful(self) -> bool:
        """True for plans in which no row that has ended can make an expression fail."""
        return self.form is PlanForm.CAREFUL

    @property
    def from_cache(self) -> bool:
        """True for plans that are given the rows they look up."""
        return self.form is PlanForm.FROM_CACHE

    def is_deferred(self, reference: Reference) -> bool:
        """True for a foreign key that the transaction has checked when it commits."""
        return bool(self.deferred) and (reference.child.id, reference.key.name) in self.deferred

    def with_catalog(self, catalog: CatalogSnapshot) -> RewriteContext:
        """The same with another catalog."""
        return replace(self, catalog=catalog)

    def in_schema(self, schema: str) -> RewriteContext:
        """The same where names that give no schema are of this one, as in a view."""
        outer = self.session_schema or self.default_schema
        return replace(self, default_schema=schema, path=(), session_schema=outer)
