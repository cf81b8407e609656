"""Changed statements: parser and rules take them or refuse them with a code, on every store.

`python -m tests.rewriter.fuzz` goes through many more. What it found stands in `defects.sql`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from journal.model.schema import OWN_SCHEMA, CatalogSnapshot
from tests.rewriter.fuzz.corpus import Source, all_sources
from tests.rewriter.fuzz.mutations import Mutant, mutant
from tests.rewriter.fuzz.verdict import judge
from tests.rewriter.golden.plans import STORES

DEFECTS = Path(__file__).parent / "fuzz" / "defects.sql"
SEEDS = 200


@cache
def _sources() -> list[Source]:
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    return all_sources()


def _defects() -> Iterator[tuple[str, str]]:
    _, *parts = re.split(r"^-- (\w+)\n", DEFECTS.read_text(), flags=re.MULTILINE)
    for dialect, texts in zip(parts[::2], parts[1::2], strict=True):
        for text in texts.split(";\n"):
            if text.strip():
                yield dialect, text.strip()


@pytest.mark.parametrize(("dialect", "text"), list(_defects()))
@pytest.mark.parametrize("store", sorted(STORES))
def test_what_failed_once_is_taken_or_refused(store: str, dialect: str, text: str) -> None:
    source = Source("", dialect, (text,), CatalogSnapshot.empty(own=OWN_SCHEMA))
    verdict = judge(Mutant(text, dialect, source), store)
    assert not verdict.finding, verdict.detail


@pytest.mark.first(1)
@pytest.mark.parametrize("store", sorted(STORES))
def test_changed_statements_are_taken_or_refused(store: str) -> None:
    for seed in range(SEEDS):
        changed = mutant(seed, _sources())
        verdict = judge(changed, store)
        assert not verdict.finding, f"seed {seed}: {changed.text}\n{verdict.detail}"


def test_a_seed_gives_the_same_text_again() -> None:
    texts = [mutant(seed, _sources()).text for seed in range(40)]
    assert texts == [mutant(seed, _sources()).text for seed in range(40)]
    assert len(set(texts)) > 30
