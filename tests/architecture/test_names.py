"""Names say what they return or do: a closed list of words that say nothing by themselves."""

from __future__ import annotations

from tests.architecture.sources import PACKAGES, Source, sources

VAGUE = frozenset(
    "among apart aside asked away back bad behind beside brought caught copied covered ended"
    " everything fitting found going gone grouped hashed held here inside kept known left"
    " leaving less look looked looking lost lying made marked meant mine more moved narrowed near"
    " nothing odd other others over own packed quoted reaped rewritten said same seam seen settled"
    " shown sought spelled spelt still such taken tell there together told trimmed turn wanted way"
    " weighed whole written wrong".split()
)
"""Participles, adverbs and pronouns. ``found_table`` or ``quote`` say what ``_found`` does not."""

KNOWN: dict[str, int] = {"gateway": 0, "rewriter": 0, "journal": 1, "spark_compaction": 0}
"""How many such names each package still has. These numbers only fall."""


def vague_names(source: Source) -> list[str]:
    """The modules and functions of a file whose name, underscores aside, is on the list."""
    found = [f.name for f in source.functions if f.name.strip("_") in VAGUE]
    if source.path.stem.strip("_") in VAGUE:
        found.append(f"module {source.path.stem}")
    return [f"{source.name}: {name}" for name in found]


def test_functions_and_modules_say_what_they_return_or_do() -> None:
    for package in PACKAGES:
        found = [line for source in sources(package) for line in vague_names(source)]
        assert len(found) <= KNOWN[package], (
            "name what it returns or does, by docs/glossary.md:\n" + "\n".join(found)
        )
