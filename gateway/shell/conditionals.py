r"""Which parts of a script run: ``\if``, ``\elif``, ``\else`` and ``\endif``, as in psql.

What stands in a part that does not run is read, for its quotes and semicolons, and dropped;
statements may go on behind it. Decides only: the shell runs, drops and tells.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.shell.command_arguments import WrongCommand
from journal.model.lazy_dataclass import dataclass

COMMANDS = ("if", "elif", "else", "endif")
_NESTED_MAX = 100
_SPELLINGS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


@dataclass(slots=True)
class _Block:
    r"""One ``\if``. ``outer``: whether it stands where things run; ``open``: none has run yet."""

    outer: bool
    active: bool = False
    open: bool = True
    has_else: bool = False


class Conditionals:
    r"""The blocks of ``\if`` that are open, the outermost first."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self.kept_text = ""
        """What was typed of a statement before the part that does not run."""
        self.kept_line = 0

    @property
    def depth(self) -> int:
        """How many blocks are open."""
        return len(self._blocks)

    @property
    def is_active(self) -> bool:
        """True where statements and commands run."""
        return not self._blocks or self._blocks[-1].active

    def begin(self, condition: Callable[[], bool]) -> None:
        r"""``\if``: the condition is asked only where things run; if it raises, it is false."""
        if len(self._blocks) >= _NESTED_MAX:
            raise WrongCommand(f"\\if stands more than {_NESTED_MAX} deep in others")
        block = _Block(outer=self.is_active)
        self._blocks.append(block)
        self._decide(block, condition)

    def next_condition(self, condition: Callable[[], bool]) -> None:
        r"""``\elif``: asked if no part of the block has run."""
        block = self._block("\\elif")
        if block.has_else:
            raise WrongCommand("\\elif cannot stand behind \\else")
        block.active = False
        self._decide(block, condition)

    def otherwise(self) -> None:
        r"""``\else``: runs if no part of the block has run."""
        block = self._block("\\else")
        if block.has_else:
            raise WrongCommand("\\else stands twice in this \\if")
        block.has_else = True
        block.active = block.outer and block.open
        block.open = False

    def end(self) -> None:
        r"""``\endif``."""
        self._block("\\endif")
        self._blocks.pop()

    def leave(self) -> bool:
        """Ctrl-C at the prompt: leave the innermost block if it does not run; whether it did."""
        if self.is_active:
            return False
        self._blocks.pop()
        return True

    def _block(self, command: str) -> _Block:
        if not self._blocks:
            raise WrongCommand(f"{command} stands behind no \\if")
        return self._blocks[-1]

    @staticmethod
    def _decide(block: _Block, condition: Callable[[], bool]) -> None:
        if block.outer and block.open:
            block.active = condition()
            block.open = not block.active


def condition_value(text: str) -> bool:
    r"""What the words behind ``\if`` mean: true, false, or the beginning of one, as in psql.

    >>> condition_value("t"), condition_value("OFF"), condition_value("1")
    (True, False, True)
    """
    word = text.strip().lower()
    meant = {value for spelling, value in _SPELLINGS.items() if word and spelling.startswith(word)}
    if len(meant) != 1:
        given = text.strip() or "nothing"
        raise WrongCommand(f"\\if and \\elif take true or false, not {given}: it counts as false")
    return meant.pop()
