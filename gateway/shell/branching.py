r"""The commands ``\if``, ``\elif``, ``\else`` and ``\endif``: what they ask, and what becomes of
the statement that is typed around a part that does not run.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.shell.command_context import CommandContext
from gateway.shell.outside import is_true


def begin(shell: CommandContext, text: str) -> None:
    r"""``\if EXPRESSION``."""
    _change(shell, lambda: shell.conditionals.begin(lambda: is_true(shell, text)))


def next_condition(shell: CommandContext, text: str) -> None:
    r"""``\elif EXPRESSION``."""
    _change(shell, lambda: shell.conditionals.next_condition(lambda: is_true(shell, text)))


def otherwise(shell: CommandContext, text: str) -> None:
    r"""``\else``."""
    _change(shell, shell.conditionals.otherwise)


def end(shell: CommandContext, text: str) -> None:
    r"""``\endif``."""
    _change(shell, shell.conditionals.end)


def _change(shell: CommandContext, change: Callable[[], None]) -> None:
    """Make a change; what is typed is kept while nothing runs, and then goes on."""
    conditionals, buffer = shell.conditionals, shell.buffer
    was_active = conditionals.is_active
    try:
        change()
    finally:
        if was_active and not conditionals.is_active:
            conditionals.kept_text, conditionals.kept_line = buffer.text, buffer.line
            buffer.text = ""
        elif conditionals.is_active and not was_active:
            kept = conditionals.kept_text
            passed = buffer.line + buffer.text.count("\n")
            passed -= conditionals.kept_line + kept.count("\n")
            # Empty lines stand for those passed over, so that errors name lines of the script.
            lines = "\n" * max(0, passed) if kept.strip() and not shell.interactive else ""
            buffer.text, buffer.line = kept + lines, conditionals.kept_line
