"""Options of ``palimpsest serve`` that a file and the environment give as well, and its limits.

command line > PALIMPSEST_SERVE_<OPTION> > palimpsest.toml > default
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import click

from gateway.commands.control_store import KEY, TABLE
from gateway.servers.limits import (
    DEFAULT_CONNECTIONS,
    DEFAULT_LOGIN_S,
    DEFAULT_MESSAGE_BYTES,
    ServerLimits,
)
from gateway.servers.pgwire.nodes import NODES
from journal.model.errors import Code, PalimpsestError

Command = TypeVar("Command", bound=Callable[..., Any])
_PREFIX = "PALIMPSEST_SERVE_"
_SECONDS = click.FloatRange(0, 31_536_000)
_COUNT = click.IntRange(0)
_LIMITS: tuple[tuple[str, str, Any, Any, str], ...] = (
    ("max-connections", "connections", click.IntRange(1, 100_000), DEFAULT_CONNECTIONS,
     "How many clients may be connected."),
    ("max-user-connections", "user_connections", _COUNT, 0, "The same, of one user; 0: no limit."),
    ("max-address-connections", "address_connections", _COUNT, 0,
     "The same, from one address; 0: no limit."),
    ("max-message-bytes", "message_bytes", click.IntRange(10_000),
     DEFAULT_MESSAGE_BYTES, "The longest message of a client."),
    ("login-timeout", "login_s", click.FloatRange(0.1, 3600), DEFAULT_LOGIN_S,
     "Seconds that a client has to log in."),
    ("max-login-rate", "login_rate", _COUNT, 0,
     "Logins a minute from one address, failed ones too; 0: no limit."),
    ("statement-timeout", "statement_s", _SECONDS, 0.0,
     "Seconds that a statement may run; 0: no limit."),
    ("idle-timeout", "idle_s", _SECONDS, 0.0,
     "Seconds that a connection may wait outside of a transaction; 0: no limit."),
    ("idle-transaction-timeout", "idle_transaction_s", _SECONDS, 0.0,
     "Seconds that a transaction may wait; 0: no limit."),
    ("max-result-rows", "result_rows", _COUNT, 0, "Most rows of a result; 0: no limit."),
    ("max-result-bytes", "result_bytes", _COUNT, 0, "Most bytes of a result; 0: no limit."),
)  # fmt: skip


def node_options(command: Command) -> Command:
    """Give a command the options of several servers on one store."""
    command = click.option(
        "--peer",
        "peers",
        multiple=True,
        metavar="NUMBER=HOST:PORT",
        help="Another server on the same store, to which requests to cancel are passed on.",
    )(command)
    return click.option(
        "--node",
        type=click.IntRange(0, NODES - 1),
        default=0,
        show_default=True,
        metavar="NUMBER",
        help="The number of this server among several on one store behind a load balancer.",
    )(command)


def limit_options(command: Command) -> Command:
    """Give a command the options of ``ServerLimits``, by the names of its fields."""
    for option, name, kind, default, text in reversed(_LIMITS):
        command = click.option(
            f"--{option}", name, type=kind, default=default, show_default=True, help=text
        )(command)
    return command


def limits_of(given: Mapping[str, Any]) -> ServerLimits:
    """The limits among the values of options."""
    return ServerLimits(**{name: given[name] for _, name, *_ in _LIMITS})


def name_variables(command: click.Command) -> click.Command:
    """Let each option be given by a variable of the environment, too."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.envvar is None:
            parameter.envvar = _PREFIX + _option(parameter).upper().replace("-", "_")
            parameter.show_envvar = False
    return command


def read_config(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Take defaults of options from a file; raises a usage error for what it cannot be."""
    if path is not None:
        try:
            context.default_map = config_values(context.command, path)
        except PalimpsestError as error:
            raise click.UsageError(f"{error.message}. {error.advice}") from error
    return path


def config_values(command: click.Command, path: Path) -> dict[str, Any]:
    """Values by the names of a command's parameters; raises SETTING_VALUE.

    Keys are options, in tables or without: ``tls-cert``, or ``cert`` in the table ``tls``.
    """
    try:
        with path.open("rb") as handle:
            data = tomllib.load(handle)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise PalimpsestError(
            Code.SETTING_VALUE, f"{path} cannot be read: {error}", advice="see docs/server.md"
        ) from error
    options = {_option(p): p for p in command.params if isinstance(p, click.Option)}
    found: dict[str, Any] = {}
    for section, content in data.items():
        pairs = content.items() if isinstance(content, dict) else [("", content)]
        for key, value in pairs:
            if (section, key) == (TABLE, KEY):
                continue  # Other commands go there; a server serves its own store.
            wanted = [part.replace("_", "-") for part in (section, key) if part]
            names = ["-".join(wanted), wanted[-1], f"max-{wanted[-1]}"]
            known = next((options[name] for name in names if name in options), None)
            if known is None or known.name is None or known.is_eager:
                close = get_close_matches(names[0], options, n=2)
                raise PalimpsestError(
                    Code.SETTING_VALUE,
                    f"{path} has the key {'.'.join(p for p in (section, key) if p)}, which is no"
                    " option of palimpsest serve",
                    advice=f"did you mean {' or '.join(close)}?" if close else "see its --help",
                )
            found[known.name] = value
    return found


def _option(parameter: click.Option) -> str:
    return max(parameter.opts, key=len).lstrip("-")
