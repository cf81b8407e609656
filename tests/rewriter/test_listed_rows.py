"""Which long chains of conditions become lists of rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot import exp

from journal.model.plan import Fetch
from tests.rewriter.golden.case import Case
from tests.rewriter.golden.plans import STORES, Rewriting

_TABLE = "CREATE TABLE t (a INT, b BIGINT, c VARCHAR(9), d DOUBLE, e TEXT COLLATE NOCASE)"


def _joined(term: str, count: int = 80) -> str:
    return " OR ".join(term.replace("#", str(i)) for i in range(count))


def _is_listed(condition: str, store: str = "embedded") -> bool:
    case = Case(Path(), {}, (_TABLE,), f"SELECT a FROM t WHERE {condition}", "", "", "")
    (step,) = (s for s in Rewriting(case, STORES[store]).plan().steps if isinstance(s, Fetch))
    return next(step.query.ast.find_all(exp.Tuple), None) is not None


@pytest.mark.parametrize(
    "condition",
    [
        _joined("a = # AND b = -1"),
        _joined("(a = # AND (1 = t.b))"),
        _joined("c = 'x#' AND a = #"),
        f"a > 3 AND (({_joined('a = # AND b = 1')}))",
    ],
)
def test_rows_are_listed(condition: str) -> None:
    assert _is_listed(condition)
    assert not _is_listed(condition, "postgresql")


@pytest.mark.parametrize(
    "condition",
    [
        _joined("a = # AND b = 1", 60),
        _joined("a = #"),
        _joined("a = # AND b > 1"),
        _joined("a = # AND b = a"),
        _joined("a = # AND a = 1"),
        _joined("a = # AND b = 1.5"),
        _joined("a = # AND b = '1'"),
        _joined("a = # AND c = 1"),
        _joined("a = # AND d = 1"),
        _joined("a = # AND e = 'x'"),
        f"NOT ({_joined('a = # AND b = 1')})",
        f"({_joined('a = # AND b = 1')}) IS NULL",
        f"{_joined('a = # AND b = 1')} OR (a = 1 AND c = 'x')",
    ],
)
def test_other_chains_stay(condition: str) -> None:
    assert not _is_listed(condition)
