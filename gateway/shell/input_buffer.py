r"""What was typed and not yet run: statements up to their semicolon, backslash commands anywhere.

As in psql, a command may stand behind a statement without a semicolon (``SELECT 1 \gx``), or
between its lines, and then finds what was typed of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateway.shell.splitting import SplitStatement, next_end, piece_of
from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class BackslashLine:
    """A backslash command with its arguments: all up to the end of the line."""

    text: str


@dataclass(slots=True)
class InputBuffer:
    """Text that is not run yet; ``line`` is the 0-based number of its first line."""

    text: str = ""
    line: int = 0

    def add(self, text: str, line: int) -> None:
        """Add what was read next; ``line`` is its number."""
        if not self.text.strip():
            self.text, self.line = "", line
        self.text += text

    def parts(self, dialect: str) -> Iterator[SplitStatement | BackslashLine]:
        """Take what is complete, one after the other; the rest stays.

        While a command is looked at, the buffer holds the statement before it, which the command
        may take or change.
        """
        while True:
            end, after, is_command = next_end(self.text, 0, dialect, commands=True)
            if after is None:
                return
            if is_command:
                command, newline, rest = self.text[end:].partition("\n")
                self.text = self.text[:end]
                yield BackslashLine(command.strip())
                self.text += newline + rest
                continue
            piece = self._piece(end, complete=True)
            self._drop(after)
            if piece is not None:
                yield piece

    def take(self) -> SplitStatement | None:
        """Take all that is there as one statement; None if there is none."""
        piece = self._piece(len(self.text), complete=False)
        self._drop(len(self.text))
        return piece

    def _piece(self, end: int, *, complete: bool) -> SplitStatement | None:
        piece = piece_of(self.text, 0, end, complete=complete)
        if piece is None:
            return None
        return SplitStatement(piece.text, piece.line + self.line, piece.column, complete)

    def _drop(self, end: int) -> None:
        self.line += self.text.count("\n", 0, end)
        self.text = self.text[end:]


def is_ready(text: str, dialect: str = "duckdb") -> bool:
    """True when Enter sends the text: each statement has its semicolon, or a command ends it."""
    buffer = InputBuffer(text)
    for part in buffer.parts(dialect):
        if isinstance(part, BackslashLine) and text.rstrip().endswith(part.text):
            return True
    return (
        not buffer.text.strip()
        or piece_of(buffer.text, 0, len(buffer.text), complete=False) is None
    )
