"""An error as people read it: what, the statement's line with a caret, and what to do."""

from __future__ import annotations

from rich.cells import cell_len

from gateway.errors import Error
from journal.model.errors import Position

_RED, _CYAN, _DIM, _PLAIN = "\x1b[1;31m", "\x1b[36m", "\x1b[2m", "\x1b[0m"


def render_error(
    error: Error, statement: str = "", *, width: int = 100, color: bool = False, line: int = 0
) -> str:
    """The error's text; ``line`` is added to the numbers of the statement's lines."""

    def paint(code: str, text: str) -> str:
        return f"{code}{text}{_PLAIN}" if color else text

    first, _, rest = error.message.partition("\n")
    parts = [paint(_RED, f"ERROR {error.code}") + f" ({error.sqlstate}): {first}"]
    if rest:
        parts.append(rest)
    if error.position is not None and statement:
        source = _source(statement, error.position, max(20, width - 8))
        if source is not None:
            number = str(error.position.line + line)
            text, offset = source
            bar = paint(_DIM, "│")
            parts.append(f" {paint(_DIM, number)} {bar} {text}")
            caret = paint(_RED, "^")
            parts.append(f" {' ' * len(number)} {bar} {' ' * offset}{caret}")
    if error.advice:
        parts.append(paint(_CYAN, "Hint:") + f" {error.advice}")
    return "\n".join(parts)


def _source(statement: str, position: Position, width: int) -> tuple[str, int] | None:
    """The line at the position, cut to the width around it, and the caret's offset in cells."""
    lines = statement.split("\n")
    if not 1 <= position.line <= len(lines):
        return None
    text = lines[position.line - 1].expandtabs(1).rstrip("\r")
    column = min(position.column - 1, len(text))
    if len(text) > width:
        begin = max(0, min(column - width // 2, len(text) - width + 2))
        before, after = ("…" if begin else ""), ("…" if begin + width < len(text) else "")
        column = column - begin + len(before)
        text = before + text[begin : begin + width - 2] + after
    return text, cell_len(text[:column])
