r"""``\\c [PATH|URL]``: go on with another warehouse, as whoever came and in the same dialect."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from gateway.network.urls import is_server_url
from gateway.opening.url_secrets import without_password
from gateway.shell.command_arguments import WrongCommand, split_words
from gateway.shell.command_context import CommandContext


def place_name(place: str) -> str:
    """What the prompt calls a warehouse: the name of its directory, or of its server."""
    if is_server_url(place):
        return urlsplit(place).hostname or "server"
    path = urlsplit(place).path if "://" in place else place
    return Path(path).name or "temporary" if path.strip("/") else "temporary"


def connect_elsewhere(shell: CommandContext, text: str) -> None:
    r"""``\\c PATH|URL``: connect there; the connection so far stays if that fails.

    Without a place it says what the shell is connected to. Raises WrongCommand while a transaction
    is open that has written, and errors of connecting.
    """
    words = split_words(text)
    if words:
        _connect(shell, words)
    session = shell.connection.client_session
    shell.write_message(
        f"You are connected to {without_password(session.place)} as"
        f" {session.user or 'nobody'}; dialect {session.dialect}."
    )


def _connect(shell: CommandContext, words: list[str]) -> None:
    if len(words) > 1:
        raise WrongCommand("\\c takes one place: a folder, or a URL with user and host in it")
    before = shell.connection
    if before.client_session.has_written:
        raise WrongCommand("the open transaction has changed something: COMMIT or ROLLBACK first")
    connection = shell.open_place(words[0])
    connection.autocommit = before.autocommit
    shell.connection, shell.place = connection, words[0]
    before.rollback()
    before.close()
