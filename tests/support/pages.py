"""What README and docs show as code: which blocks are run, and why the others are not.

A page is read in parts, each for a folder that is empty at first. Comments that no reader sees say
the rest:

``<!-- fresh folder -->``    a new part begins
``<!-- not run: why -->``    directly above a block: it is shown only
``<!-- first: sh code -->``  what must have happened before, and would only bore a reader

Nothing is run here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RUN = ("sh", "sql", "python")
"""The languages whose blocks are run."""
SHOWN = ("text", "json", "output")
"""The languages whose blocks are shown only; ``output`` is what the block above it prints."""

_PIECE = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+?) -->\n)?"
    r"```(?P<language>\w*)\n(?P<code>.*?)^```$"
    r"|^<!-- first:\s(?P<first>.*?)-->$"
    r"|^<!-- (?P<fresh>fresh folder) -->$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page; ``line`` is where it begins."""

    line: int
    language: str
    code: str
    why_not: str | None = None
    """Why it is not run, where the page says so."""
    output: str | None = None
    """What it must print, where the page shows that."""

    @property
    def is_run(self) -> bool:
        """True if a test runs it."""
        return self.language in RUN and self.why_not is None


def parts(page: Path) -> list[list[Block]]:
    """The parts of a page, each with its blocks in order."""
    text = page.read_text(encoding="utf-8")
    found: list[list[Block]] = [[]]
    shown = 0
    for piece in _PIECE.finditer(text):
        line = text.count("\n", 0, piece.start()) + 1
        last = found[-1][-1] if found[-1] else None
        beside = not text[shown : piece.start()].strip()
        shown = piece.end()
        if piece["fresh"]:
            found.append([])
        elif piece["first"] is not None:
            found[-1].append(Block(line, "sh", piece["first"]))
        elif piece["language"] == "output" and last is not None and last.is_run and beside:
            found[-1][-1] = Block(last.line, last.language, last.code, output=piece["code"])
        else:
            found[-1].append(Block(line, piece["language"], piece["code"], piece["why"]))
    return [part for part in found if part]


def untold(page: Path) -> list[str]:
    """The blocks of which the page does not say what they are: nobody runs them, or knows why."""
    found = []
    for block in (b for part in parts(page) for b in part):
        if block.language not in (*RUN, *SHOWN):
            found.append(f"{page.name}:{block.line}: a block needs a language: {RUN + SHOWN}")
        elif block.language == "output":
            found.append(f"{page.name}:{block.line}: the block above this output is not run")
        elif block.why_not is not None and (block.language not in RUN or len(block.why_not) < 12):
            found.append(f"{page.name}:{block.line}: why is it not run?")
    fences = len(re.findall(r"^\s*```", page.read_text(encoding="utf-8"), re.MULTILINE))
    pieces = [p for p in _PIECE.finditer(page.read_text(encoding="utf-8")) if p["code"] is not None]
    if fences != 2 * len(pieces):
        found.append(f"{page.name}: {fences} fences, but {len(pieces)} blocks at the line's begin")
    return found
