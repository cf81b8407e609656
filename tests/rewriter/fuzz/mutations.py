"""Statements changed at random: words left out, said twice, swapped; parts of others put in.

A seed gives the same text again. Most changes are made in a tree that was read, which gives texts
that can be read; the others among words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from rewriter.dialect_semantics import DIALECTS
from tests.rewriter.fuzz.corpus import Source

_WORD = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|<>|<=|>=|!=|::|:=|->>?|\|\||\S")
_SPICE = """
( ) , ; . * ? :: = NULL 1 0 -1 'x' '' AS ON IN NOT AND OR IS BY ALL DISTINCT USING SELECT FROM WHERE
GROUP ORDER LIMIT WITH VALUES INTO SET DEFAULT RETURNING CONFLICT DO UPDATE DELETE INSERT MERGE
CREATE TABLE VIEW INDEX PRIMARY KEY UNIQUE CHECK REFERENCES JOIN LEFT CROSS NATURAL LATERAL UNION
EXCEPT RECURSIVE OVER FILTER CASE WHEN THEN END IF EXISTS REPLACE TEMPORARY GENERATED ALWAYS
IDENTITY CASCADE RESTRICT ADD DROP COLUMN ALTER RENAME TO TYPE COLLATE CAST EXCLUDE ROLLUP PIVOT
UNPIVOT FOR VERSION_AS OF TIMESTAMP SYSTEM_TIME BETWEEN LIKE INTERVAL ARRAY ROW STRUCT $1 %s :a [ ]
{ } @ # \\
""".split()
_DIALECTS = [name for name in DIALECTS if name != "postgresql"]
_WORDS_MAX = 400
_SQLGLOT_RAISES = (SqlglotError, ValueError, AttributeError, TypeError, LookupError)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed text, the dialect it is read in, and the source whose tables are there."""

    text: str
    dialect: str
    source: Source


def mutant(seed: int, sources: Sequence[Source]) -> Mutant:
    """The text of a seed."""
    # An int alone would give streams that resemble each other for seeds that do.
    chance = random.Random(f"mutant {seed}")
    source, other = chance.choice(sources), chance.choice(sources)
    text, donor = chance.choice(source.texts), chance.choice(other.texts)
    at_home = chance.random() < 0.7
    dialect = source.dialect if at_home else chance.choice(_DIALECTS)
    if chance.random() < 0.75:
        changed = _in_tree(chance, text, donor, source.dialect, other.dialect, dialect)
        if changed is not None and chance.random() < 0.8:
            return Mutant(changed, dialect, source)
        text = changed or text
    return Mutant(_among_words(chance, text, donor), dialect, source)


def _among_words(chance: random.Random, text: str, donor: str) -> str:
    words, others = _WORD.findall(text)[:_WORDS_MAX], _WORD.findall(donor)[:_WORDS_MAX]
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5))):
        words = chance.choice(_CHANGES)(chance, words or ["SELECT"], others or ["SELECT"])
    return " ".join(words)


Words = list[str]


def _left_out(chance: random.Random, words: Words, others: Words) -> Words:
    start = chance.randrange(len(words))
    return words[:start] + words[start + chance.choice((1, 1, 1, 2, 4)) :]


def _said_twice(chance: random.Random, words: Words, others: Words) -> Words:
    start = chance.randrange(len(words))
    end = start + chance.choice((1, 1, 2, 3, 6))
    return words[:end] + words[start:end] + words[end:]


def _swapped(chance: random.Random, words: Words, others: Words) -> Words:
    first, second = chance.randrange(len(words)), chance.randrange(len(words))
    changed = list(words)
    changed[first], changed[second] = changed[second], changed[first]
    return changed


def _spiced(chance: random.Random, words: Words, others: Words) -> Words:
    place = chance.randrange(len(words) + 1)
    return [*words[:place], chance.choice(_SPICE), *words[place:]]


def _replaced(chance: random.Random, words: Words, others: Words) -> Words:
    place = chance.randrange(len(words))
    new = chance.choice((*_SPICE, *words, *others))
    return [*words[:place], new, *words[place + 1 :]]


def _joined(chance: random.Random, words: Words, others: Words) -> Words:
    return words[: chance.randrange(len(words) + 1)] + others[chance.randrange(len(others)) :]


def _put_in(chance: random.Random, words: Words, others: Words) -> Words:
    start = chance.randrange(len(others))
    place = chance.randrange(len(words) + 1)
    part = others[start : start + chance.randrange(1, 12)]
    return words[:place] + part + words[place:]


def _bracketed(chance: random.Random, words: Words, others: Words) -> Words:
    """One bracket and what it holds in the place of another."""
    mine, theirs = _brackets(words), _brackets(others)
    if not mine or not theirs:
        return _put_in(chance, words, others)
    (start, end), (first, last) = chance.choice(mine), chance.choice(theirs)
    return words[:start] + others[first:last] + words[end:]


def _brackets(words: Words) -> list[tuple[int, int]]:
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for place, word in enumerate(words):
        if word == "(":
            opened.append(place)
        elif word == ")" and opened:
            found.append((opened.pop(), place + 1))
    return found


_CHANGES: tuple[Callable[[random.Random, Words, Words], Words], ...] = (
    _left_out,
    _left_out,
    _said_twice,
    _swapped,
    _spiced,
    _spiced,
    _replaced,
    _replaced,
    _joined,
    _put_in,
    _bracketed,
    _bracketed,
)


def _in_tree(
    chance: random.Random, text: str, donor: str, read: str, donor_read: str, write: str
) -> str | None:
    """A text in which nodes have given way to others like them; None where it cannot be read."""
    tree, other = _tree(text, read), _tree(donor, donor_read)
    if tree is None or other is None:
        return None
    holder = exp.Paren(this=tree)
    for _ in range(chance.choice((1, 1, 2, 3))):
        nodes = [n for n in holder.walk() if n.parent is not None]
        if not nodes:
            return None
        old = chance.choice(nodes)
        base = exp.Query if isinstance(old, exp.Query) else exp.Condition
        alike = base if isinstance(old, base) and chance.random() < 0.8 else type(old)
        donors = [n for n in (*other.walk(), *holder.walk()) if isinstance(n, alike)]
        if chance.random() < 0.15:
            old.pop()
        elif donors:
            old.replace(chance.choice(donors).copy())
    if holder.this is None or not isinstance(holder.this, exp.Expr):
        return None
    try:
        return str(holder.this.sql(dialect=DIALECTS[write]))
    except (
        SqlglotError,
        ValueError,
        AttributeError,
        TypeError,
        KeyError,
        IndexError,
        RecursionError,
    ):
        # What was put together may be no SQL at all, of which the generator knows nothing.
        return None


def _tree(text: str, dialect: str) -> exp.Expr | None:
    try:
        found = Dialect.get_or_raise(DIALECTS[dialect]).parse(text)
    except _SQLGLOT_RAISES:
        return None
    return found[0] if found and isinstance(found[0], exp.Expr) else None
