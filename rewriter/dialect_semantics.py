"""Where the same words mean different things: in dialects, and under settings. Values only."""

from __future__ import annotations

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

DIALECTS = {
    "duckdb": "duckdb",
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mysql",
    "spark": "spark",
    "hive": "hive",
    "ansi": "",
}
"""The dialects that clients may write, by the names that they give; what the parser calls each."""
VARIABLE = "variable "
"""What the name of a setting begins with that is a variable of the session."""
NULLS_FIRST = "nulls_first"
NULLS_LAST = "nulls_last"
NULLS_SMALL = "nulls_first_on_asc_last_on_desc"
NULLS_LARGE = "nulls_last_on_asc_first_on_desc"


@dataclass(frozen=True, slots=True)
class DialectSemantics:
    """How a dialect's writing statements behave.

    ``short_rows``: INSERT without a column list may give fewer values than there are columns.
    ``stars_by_name``: UPDATE SET * and INSERT * of a MERGE go by name, not by position.
    ``null_generates``: NULL for a generated number asks for one.
    ``indexes_are_relations``: an index has a name of its own among tables and views, and goes with
    a column that it is over.
    ``views_hold``: what a view reads cannot go without it, and CASCADE takes it along, as well as
    foreign keys that refer to what goes.
    ``replaced_views_keep_columns``: CREATE OR REPLACE VIEW adds columns behind the present ones.
    ``keeps_referenced``: TRUNCATE takes no table that another one refers to, whatever its rows.
    ``types_hold``: a type cannot go while columns are declared with it.
    ``texts_become_enums``: a constant beside a value of an enum is of that enum, and no text.
    ``checks_first``: what ON CONFLICT brings must keep NOT NULL and CHECK whatever becomes of it;
    elsewhere only what is written must.
    ``upserts_first``: of rows of one INSERT with the same key the first counts, where a conflict
    changes the present row; elsewhere they are an error.
    ``types_by_assignment``: ALTER .. TYPE without USING takes types that values are assigned to.
    ``keeps_lengths``: a text is no longer than its type says, as VARCHAR(5) does.
    ``returns_sources``: RETURNING * has the columns of the relations in FROM and USING as well.
    ``parts_in_turn``: data-modifying CTEs run one after another, and what comes behind one sees
    what it did; elsewhere all parts of a statement see the rows from before it.
    ``schemas_are_there``: SET schema and SET search_path take schemas that exist alone.
    ``settings_are_undone``: a ROLLBACK undoes what SET did in the transaction, and a failed one
    takes no SET.
    ``numbers_columns``: columns of a table or view made of a query that have one name get a number
    behind it; elsewhere they are an error.
    ``stars_are_fixed``: a view of ``SELECT *`` has the columns that its relations had when it was
    made; elsewhere those that they have.
    ``updates_on_any_conflict``: ON CONFLICT DO UPDATE needs no key behind it.
    ``searches_home``: the home schema is behind all of the search path.
    ``generates_from_generated``: a generated column may read another one.
    """

    short_rows: bool = False
    checks_first: bool = False
    upserts_first: bool = False
    stars_by_name: bool = False
    null_generates: bool = False
    indexes_are_relations: bool = False
    types_hold: bool = False
    views_hold: bool = False
    replaced_views_keep_columns: bool = False
    keeps_referenced: bool = False
    texts_become_enums: bool = False
    types_by_assignment: bool = False
    keeps_lengths: bool = False
    returns_sources: bool = False
    parts_in_turn: bool = False
    schemas_are_there: bool = False
    settings_are_undone: bool = False
    numbers_columns: bool = False
    stars_are_fixed: bool = False
    searches_home: bool = False
    updates_on_any_conflict: bool = True
    generates_from_generated: bool = True


_STRICT = DialectSemantics()
_POSTGRES = DialectSemantics(
    short_rows=True,
    checks_first=True,
    indexes_are_relations=True,
    types_hold=True,
    views_hold=True,
    replaced_views_keep_columns=True,
    keeps_referenced=True,
    texts_become_enums=True,
    types_by_assignment=True,
    keeps_lengths=True,
    returns_sources=True,
    settings_are_undone=True,
    stars_are_fixed=True,
    updates_on_any_conflict=False,
    generates_from_generated=False,
)
_SEMANTICS = {
    "duckdb": DialectSemantics(
        upserts_first=True,
        parts_in_turn=True,
        schemas_are_there=True,
        numbers_columns=True,
        searches_home=True,
    ),
    "postgres": _POSTGRES,
    "postgresql": _POSTGRES,
    "mysql": DialectSemantics(null_generates=True, stars_are_fixed=True),
    "spark": DialectSemantics(stars_by_name=True),
    "hive": DialectSemantics(stars_by_name=True),
}


def check_dialect(name: str) -> None:
    """Raise SETTING_VALUE for a name that no dialect has."""
    if name not in DIALECTS:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f'there is no dialect "{name}"',
            advice="use one of " + ", ".join(DIALECTS),
        )


def semantics_of(dialect: str) -> DialectSemantics:
    """How a dialect's statements behave; as strictly as SQL says where nothing is known."""
    return _SEMANTICS.get(dialect, _STRICT)


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """What a session has set; the values that a new one has change nothing.

    ``null_order`` and ``descends`` say what an ORDER BY means that leaves it open. ``allows_text``:
    one that names a constant orders nothing. ``takes_first``: of a scalar subquery's rows the first
    counts. ``divides_whole``: ``/`` means what ``//`` does. ``sets_path``: the schemas of names
    were set, if to those of a new session.
    """

    null_order: str = NULLS_LAST
    descends: bool = False
    allows_text: bool = False
    takes_first: bool = False
    divides_whole: bool = False
    sets_path: bool = False


DEFAULT_QUERY_SETTINGS = QuerySettings()
