"""docs/grammar.md is what parser and rules do, and leaves no statement out."""

from __future__ import annotations

import logging

import pytest
from sqlglot import exp

from gateway.shell.syntax import FORMS
from rewriter.rewriter import RULES
from rewriter.statement import Explain, Prepare, SqlStatement
from rewriter.syntax.own_statements import first_words
from tests.architecture.grammar_examples import EXAMPLES
from tests.architecture.grammar_page import PAGE, Shown, page, shown


@pytest.fixture(scope="module")
def examples() -> list[Shown]:
    """Every example, and what each store makes of it."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    return [shown(example) for group in EXAMPLES.values() for example in group]


def test_the_page_is_what_the_rewriters_do() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make docs"


def test_each_form_has_examples() -> None:
    assert set(FORMS) == set(EXAMPLES)


def test_each_rule_has_an_example_that_it_takes(examples: list[Shown]) -> None:
    taken = [s for found in examples if "taken" in found.outcomes for s in found.statements]
    trees = [s.ast for s in taken if isinstance(s, SqlStatement)]
    trees += [s.statement.ast for s in taken if isinstance(s, Explain | Prepare)]
    kinds = {(type(tree), _kind(tree)) for tree in trees}
    rules = [(node, kind) for node, kind, _ in RULES]
    missing = [
        (node.__name__, kind)
        for node, kind in rules
        if not any(issubclass(known, node) and kind == of for known, of in kinds)
    ]
    assert not missing, "write examples in tests/architecture/grammar_examples.py"


def _kind(tree: exp.Expr) -> str:
    with_kind = isinstance(tree, exp.Create | exp.Drop | exp.Alter)
    return str(tree.args.get("kind") or "").upper() if with_kind else ""


def test_each_word_that_begins_a_statement_begins_an_example() -> None:
    begun = {e.text.split()[0].upper() for group in EXAMPLES.values() for e in group}
    assert first_words() <= begun
