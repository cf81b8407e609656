"""Golden files of the rewriter: their text, their width, their invariants, and their effect.

The effect is that of an ordinary DuckDB table: the same answer of the statement, and the same rows
in every table and view afterwards. `python -m tests.rewriter.golden --write` renews the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.model.plan import Query, StatementKind
from tests.rewriter.golden.__main__ import difference
from tests.rewriter.golden.case import Case, Mark, all_cases, spelled
from tests.rewriter.golden.layout import WIDTH
from tests.rewriter.golden.plans import STORES, plan_sections
from tests.support.engine import Engine
from tests.support.gateway_engine import GatewayEngine
from tests.support.oracle import Oracle
from tests.support.outcome import Failure, Outcome, Rows, describe
from tests.support.outcome import difference as outcome_difference

CASES = all_cases()
IDS = [case.name for case in CASES]
RUN = [case for case in CASES if "run" not in case.options]
_RUN_OF_A_RULE = 2
"""Cases of each rule that ``make test`` runs; the logic files run statements of each rule too."""
LISTED = (
    "SELECT table_schema, table_name, table_type FROM information_schema.tables"
    " WHERE table_schema IN ('main', 'hr') AND table_catalog = current_database() ORDER BY ALL"
)


@dataclass(slots=True)
class Engines:
    """Who runs each case: a plain database, and a warehouse for clients of several dialects.

    ``setup`` is the one whose tables are there, as it left them.
    """

    oracle: Oracle
    gateway: GatewayEngine
    clients: dict[str, GatewayEngine]
    setup: tuple[str | Mark, ...] = ()

    def prepare(self, case: Case) -> None:
        """Make the tables of a case, unless the case before has left the same ones."""
        if self.setup == case.setup:
            return
        for engine in (self.oracle, self.gateway):
            _drop_all(engine)
            for step in case.setup:
                if isinstance(step, Mark):
                    engine.mark(step.name)
                else:
                    outcome = engine.session("one").run(step)
                    assert not isinstance(outcome, Failure), outcome.message


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_plan(case: Case) -> None:
    found = difference(case)
    assert not found, f"{found}\npython -m tests.rewriter.golden --write {case.name}"


def test_no_line_is_too_long() -> None:
    lines = [(case.name, line) for case in CASES for line in case.path.read_text().splitlines()]
    assert [found for found in lines if len(found[1]) > WIDTH] == []


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_plans_read_journals_alone_and_leave_their_trees_as_they_are(case: Case) -> None:
    for name in case.listed("stores", "embedded"):
        try:
            plans = [plan for _, plan in plan_sections(case, name)]
        except PalimpsestError:
            continue
        for plan in plans:
            assert plan.kind is not StatementKind.READ or not plan.writes
            queries = [getattr(step, "query", None) for step in plan.steps]
            for ast in [query.ast for query in queries if isinstance(query, Query)]:
                before = ast.copy()
                text = STORES[name].text(ast)
                assert ast == before
                _check_reads(sqlglot.parse_one(text, read=STORES[name].dialect))


def _check_reads(tree: exp.Expr) -> None:
    """That a query names no logical table."""
    assert isinstance(tree, exp.Query | exp.Pivot | exp.Describe | exp.Summarize)
    for table in tree.find_all(exp.Table):
        assert table.db in {"", "_palimpsest"}, table.sql()


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """A plain DuckDB and one warehouse for all cases."""
    folder = tmp_path_factory.mktemp("golden") / "warehouse"
    found = Engines(Oracle(), GatewayEngine(folder), {})
    for client in {case.options.get("client", "duckdb") for case in RUN} - {"duckdb"}:
        found.clients[client] = GatewayEngine(folder, client)
    yield found
    for engine in (found.oracle, found.gateway, *found.clients.values()):
        engine.close()


def _effects() -> Iterator[Any]:
    """The cases to run, after the first of each rule marked ``long``."""
    met: Counter[str] = Counter()
    for case in RUN:
        rule = case.path.parent.name
        met[rule] += 1
        marks = pytest.mark.long if met[rule] > _RUN_OF_A_RULE else ()
        yield pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", list(_effects()))
def test_effect_is_that_of_an_ordinary_table(case: Case, engines: Engines) -> None:
    oracle, gateway = engines.oracle, engines.gateway
    client = engines.clients.get(case.options.get("client", "duckdb"), gateway)
    engines.prepare(case)
    engines.setup = ()
    wanted = oracle.session("one").run(spelled(case.oracle, oracle.marked))
    got = client.session("one").run(spelled(case.statement, gateway.marked))
    _compare(wanted, got, refused="-- refused" in case.golden)
    if "append to" not in case.golden and "change the catalog" not in case.golden:
        engines.setup = case.setup
        return
    relations = _relations(oracle)
    assert _relations(gateway) == relations
    for name, _ in relations:
        outcomes = [e.session("one").run(f"SELECT * FROM {name}") for e in (oracle, gateway)]
        _compare(*outcomes)


def _compare(wanted: Outcome, got: Outcome, *, refused: bool = False) -> None:
    if refused and not (isinstance(wanted, Failure) and wanted.sqlstate[:2] != "42"):
        # An ordinary database may do it; where it does not, DuckDB calls much a syntax error.
        assert isinstance(got, Failure), describe(got)
        return
    found = outcome_difference(wanted, got)
    assert found is None, f"{found}\n{describe(wanted)}\n{describe(got)}"


def _relations(engine: Engine) -> list[tuple[str, str]]:
    """Names of tables and views, and which of both they are."""
    outcome = engine.session("one").run(LISTED)
    assert isinstance(outcome, Rows), describe(outcome)
    kinds = {"VIEW": "VIEW", "BASE TABLE": "TABLE"}
    return [(f"{schema}.{name}", kinds[str(kind)]) for schema, name, kind in outcome.rows]


def _drop_all(engine: Engine) -> None:
    """Drop every table and view, in as many rounds as foreign keys make necessary."""
    left, session = _relations(engine), engine.session("one")
    for _ in range(5):
        drops = [(item, session.run(f"DROP {item[1]} {item[0]}")) for item in left]
        left = [item for item, outcome in drops if isinstance(outcome, Failure)]
    session.run("DROP SCHEMA IF EXISTS hr")
    assert left == []
