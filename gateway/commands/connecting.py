"""How a command gets its connection: the options that all commands share, and the warehouse."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote

import click
from click.core import ParameterSource

from gateway import errors
from gateway.commands.control_store import control_store
from gateway.commands.failure import CONNECTION, exit_on_error, fail
from gateway.config import Settings
from gateway.dbapi.connection import Connection
from gateway.governance.profile_updates import is_same_store
from gateway.network.urls import is_server_url
from gateway.opening.folder_urls import check_exists, parse_url
from gateway.opening.schemes import PREFIX, is_database, scheme_of
from gateway.session.operations import Operation
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.system_user import system_user
from journal.stores.embedded.file_names import DATABASE_FILE
from rewriter.dialect_semantics import DIALECTS

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
T = TypeVar("T")
DEFAULT = "warehouse"
_LONG = frozenset({"shell", "scheduler"})
"""Commands that people leave running; the others let these have a folder first."""


@dataclass(frozen=True, slots=True)
class Access:
    """Which warehouse, as whom, in which dialect, at which time."""

    warehouse: str = DEFAULT
    dialect: str = "duckdb"
    user: str | None = None
    as_of: str | None = None
    is_control: bool = False
    """Whether the command is about the store's own entities, whatever control store is named."""


def url_of(warehouse: str) -> str:
    """The URL of a warehouse given as URL or as path of its directory."""
    if "://" in warehouse or warehouse.startswith(PREFIX):
        return warehouse
    path = Path(warehouse).expanduser()
    return "palimpsest:///" + quote(str(path), errors="surrogateescape")


def access_options(function: F) -> F:
    """Adds --warehouse, --dialect, --user and --as-of, handed over as one ``access``."""
    return _with_options(function, (*_OPTIONS, AS_OF_OPTION))


def upkeep_options(function: F) -> F:
    """As ``access_options``, without --as-of: for what has no past to work on."""
    return _with_options(function, _OPTIONS)


def control_options(function: F) -> F:
    """As ``upkeep_options``, for commands whose default is the control store."""

    @wraps(function)
    def with_control(*given: Any, access: Access, **named: Any) -> Any:
        source = click.get_current_context().get_parameter_source("warehouse")
        if source is not ParameterSource.COMMANDLINE:
            try:
                store = control_store()
            except PalimpsestError as error:
                raise click.UsageError(f"{error.message}. {error.advice}") from error
            access = access if store is None else replace(access, warehouse=store)
        # Whoever names a store here means its own entities.
        return function(*given, access=replace(access, is_control=True), **named)

    return upkeep_options(with_control)  # type: ignore[return-value]


def _with_options(function: F, options: Sequence[Callable[[Any], Any]]) -> F:
    def with_access(
        *args: Any,
        warehouse: str,
        dialect: str,
        user: str | None,
        as_of: str | None = None,
        **kwargs: Any,
    ) -> Any:
        return function(*args, access=Access(warehouse, dialect, user, as_of), **kwargs)

    with_access.__name__ = function.__name__
    with_access.__doc__ = function.__doc__
    with_access.__dict__.update(function.__dict__)
    for option in reversed(options):
        with_access = option(with_access)
    return with_access  # type: ignore[return-value]


WAREHOUSE_OPTION = click.option(
    "-w",
    "--warehouse",
    "--url",
    "warehouse",
    default=DEFAULT,
    show_default=True,
    envvar="PALIMPSEST_WAREHOUSE",
    show_envvar=True,
    metavar="PATH|URL",
    help="The warehouse: its directory, or the URL of a folder, a server or a database.",
)
DIALECT_OPTION = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    default="duckdb",
    show_default=True,
    help="The SQL you write.",
)
JSON_OPTION = click.option(
    "--json", "as_json", is_flag=True, help="Write JSON for scripts; errors too, on stderr."
)
ENGINE_OPTION = click.option(
    "--engine",
    type=click.Choice(["auto", "spark", "local"]),
    help="Where files are rewritten: on Spark; local, in this process, without Java; auto, where"
    " it takes less time. Default: as SET job_engine says, else auto.",
)
MASTER_OPTION = click.option(
    "--master", metavar="MASTER", help="Spark master. Default: as SET spark_master says, local[*]."
)
AS_OF_OPTION = click.option(
    "--as-of",
    metavar="TIME|VERSION",
    help="Read everything as of this point: '2024-05-01 12:00', or a version,"
    " or now() - INTERVAL 1 DAY.",
)
EARLIER_OPTION = click.option(
    "--from",
    "since",
    required=True,
    metavar="TIME|VERSION",
    help="The earlier point: '2024-05-01 12:00', a version, or now() - INTERVAL 1 DAY.",
)
LATER_OPTION = click.option(
    "--to", "until", metavar="TIME|VERSION", help="The later point, in the same form; default: now."
)
_OPTIONS = (
    WAREHOUSE_OPTION,
    DIALECT_OPTION,
    click.option(
        "--user", metavar="NAME", help="The user to record with commits; default: your login."
    ),
)


def connect(
    access: Access, command: str, *, make: bool = False, autocommit: bool = True
) -> Connection:
    """Connect; unless ``make``, a warehouse that is not there is an error."""
    url = url_of(access.warehouse)
    if not make and not is_database(url):
        with errors.mapping():
            check_exists(url, access.warehouse)
    with errors.mapping():
        settings = Settings().with_setting("as_of", access.as_of)
        if not access.is_control:
            settings = replace(settings, control_store=control_elsewhere(url))
    return Connection(
        url,
        dialect=access.dialect,
        autocommit=autocommit,
        user=access.user or system_user(),
        application=f"palimpsest {command}",
        settings=settings,
        short=command not in _LONG,
    )


def control_elsewhere(url: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """The control store that is named, where it is another than the store of a URL.

    None for the URL of a server, which knows its own. Raises SETTING_VALUE, as ``control_store``.
    """
    named = control_store(environment)
    if named is None or is_server_url(url):
        return None
    other = url_of(named)
    is_own = scheme_of(url).key_of(url) == scheme_of(other).key_of(other)
    return None if is_own or (is_database(url) and is_same_store(url, other)) else named


@contextmanager
def telling_if_made(warehouse: str, *, quiet: bool = False) -> Iterator[None]:
    """Say on stderr if the folder of a warehouse is made inside: its path may be misspelled."""
    url = url_of(warehouse)
    root = None
    if not is_database(url) and not is_server_url(url):
        with errors.mapping():
            root, _ = parse_url(url)
    made = root is not None and not (root / DATABASE_FILE).exists()
    yield
    if made and not quiet:
        click.echo(f"Made the warehouse {warehouse}.", err=True)


@contextmanager
def open_connection(
    access: Access, command: str, *, as_json: bool = False, make: bool = False
) -> Iterator[Connection]:
    """A connection that is closed at the end; without one the command leaves with 3."""
    try:
        with telling_if_made(access.warehouse, quiet=as_json):
            connection = connect(access, command, make=make)
    except errors.Error as error:
        if error.code in {"PAL-222", "PAL-230"}:
            raise click.UsageError(str(error.message)) from error
        fail_to_connect(error, as_json=as_json)
    with connection:
        yield connection


def perform(
    access: Access,
    command: str,
    as_json: bool,
    what: Operation[P, T],
    *given: P.args,
    **named: P.kwargs,
) -> T:
    """Connect for one operation, and return what it gives; an error ends the command.

    ``as_json`` is how the error is written; what follows it goes to the operation.
    """
    with open_connection(access, command, as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            found = connection.client_session.perform(what, *given, **named)
    return found


def set_workers(connection: Connection, engine: str | None, master: str | None) -> None:
    """Have jobs of a connection run where ``--engine`` and ``--master`` say."""
    session = connection.client_session
    for setting, wanted in (("job_engine", engine), ("spark_master", master)):
        if wanted is not None:
            session.settings = session.settings.with_setting(setting, wanted)


def fail_to_connect(error: errors.Error, *, as_json: bool) -> None:
    """Write why connecting failed, and leave with exit code 3."""
    try:
        fail(error, as_json=as_json)
    except SystemExit:
        raise SystemExit(CONNECTION) from None
