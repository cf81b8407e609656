"""The prompt: editing, highlighting, completion and history around a ``Shell``.

The only module that knows prompt_toolkit. A statement may take several lines; Enter sends it once
its semicolon is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, has_completions, is_searching
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style
from pygments.lexers.sql import PostgresLexer

from gateway.shell import completion
from gateway.shell.backslash import COMMANDS
from gateway.shell.command_context import ExitShell
from gateway.shell.connecting import place_name
from gateway.shell.describing import catalog_of
from gateway.shell.dot_commands import is_dot_command
from gateway.shell.input_buffer import is_ready
from gateway.shell.shell import Shell

_STYLE = Style.from_dict(
    {
        "prompt": "bold ansicyan",
        "prompt.transaction": "bold ansiyellow",
        "prompt.failed": "bold ansired",
        "continuation": "ansibrightblack",
        "pygments.keyword": "bold ansiblue",
        "pygments.name.builtin": "ansicyan",
        "pygments.literal.string": "ansigreen",
        "pygments.literal.number": "ansimagenta",
        "pygments.comment": "italic ansibrightblack",
        "auto-suggestion": "ansibrightblack",
    }
)


class _Completions(Completer):
    """Hands our candidates to prompt_toolkit."""

    def __init__(self, shell: Shell) -> None:
        self._inner = completion.Completer(
            lambda: catalog_of(shell.connection),
            lambda: shell.connection.client_session.settings.schema,
        )

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """The candidates at the cursor of the document."""
        before = document.text_before_cursor
        if complete_event.text_inserted and completion.is_noisy(before):
            return
        found = self._inner.candidates(document.text, document.cursor_position, COMMANDS)
        for candidate in found:
            yield Completion(candidate.text, -candidate.replaces, display_meta=candidate.kind)


def run_repl(shell: Shell) -> int:
    """Talk with whoever sits at the terminal until they leave; the exit code."""
    session: PromptSession[str] = PromptSession(
        history=_history(),
        lexer=PygmentsLexer(PostgresLexer),
        completer=_Completions(shell),
        complete_while_typing=True,
        complete_style=CompleteStyle.COLUMN,
        auto_suggest=AutoSuggestFromHistory(),
        key_bindings=_bindings(shell),
        style=_STYLE,
        multiline=True,
        prompt_continuation=_continuation,
        enable_open_in_editor=True,
        reserve_space_for_menu=6,
    )
    shell.history = lambda: list(session.history.get_strings())
    pending = ""
    while True:
        session.editing_mode = EditingMode.VI if shell.options.vi_keys else EditingMode.EMACS
        try:
            typed = session.prompt(lambda: _prompt(shell), default=_on_next_line(pending))
            pending = ""
            pending = shell.run_typed(typed)
        except KeyboardInterrupt:
            pending = shell.leave_condition()
            continue
        except EOFError:
            shell.write_message("\\q")
            return _warn_of_rollback(shell, 0)
        except ExitShell as leave:
            return _warn_of_rollback(shell, leave.code)


def _on_next_line(pending: str) -> str:
    """A statement without its end as the prompt takes it up: what is typed next begins a line."""
    return f"{pending.rstrip()}\n" if pending.strip() else ""


def _is_word(text: str) -> bool:
    """True for what a person sends without a semicolon: nothing, a word, or a dot command."""
    is_dot = is_dot_command(text) and "\n" not in text.strip()
    return is_dot or text.strip().lower() in {"", "exit", "quit", "help"}


def _warn_of_rollback(shell: Shell, code: int) -> int:
    if shell.connection.client_session.has_written:
        shell.write_message("The open transaction was rolled back.", error=True)
    return code


def _prompt(shell: Shell) -> StyleAndTextTuples:
    place = place_name(shell.place)
    if not shell.conditionals.is_active:
        return [("class:prompt", place), ("class:prompt.failed", "@"), ("class:prompt", "> ")]
    match shell.connection.client_session.status:
        case "transaction":
            return [
                ("class:prompt", place),
                ("class:prompt.transaction", "*"),
                ("class:prompt", "> "),
            ]
        case "failed":
            return [("class:prompt", place), ("class:prompt.failed", "!"), ("class:prompt", "> ")]
        case _:
            return [("class:prompt", f"{place}> ")]


def _continuation(width: int, line_number: int, is_soft_wrap: int) -> StyleAndTextTuples:
    mark = "" if is_soft_wrap else "-> "
    return [("class:continuation", mark.rjust(width))]


def _bindings(shell: Shell) -> KeyBindings:
    bindings = KeyBindings()

    @Condition
    def choosing() -> bool:
        from prompt_toolkit.application import get_app

        state = get_app().current_buffer.complete_state
        return state is not None and state.current_completion is not None

    @bindings.add("enter", filter=has_completions & choosing)
    def take_completion(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("enter", filter=~choosing & ~is_searching)
    def send_or_break(event: KeyPressEvent) -> None:
        text = event.current_buffer.text
        dialect = shell.connection.client_session.dialect
        if _is_word(text) or is_ready(text, dialect):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    @bindings.add("escape", "enter")
    def break_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


def history_path() -> Path:
    """Where statements are remembered: PALIMPSEST_HISTORY, else the user's state folder."""
    given = os.environ.get("PALIMPSEST_HISTORY")
    if given:
        return Path(given)
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "palimpsest" / "history"


def _history() -> History:
    path = history_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
