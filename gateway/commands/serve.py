"""``palimpsest serve``: a warehouse for clients of PostgreSQL, Hive and Flight SQL."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

import click

from gateway.access.external import ExternalLogin, external_logins
from gateway.activity.log_lines import FORMATS
from gateway.activity.log_settings import CONFIG, LEVELS, LogSettings
from gateway.commands.connecting import (
    WAREHOUSE_OPTION,
    control_elsewhere,
    telling_if_made,
    url_of,
)
from gateway.commands.failure import exit_on_error
from gateway.commands.log_options import begin_log
from gateway.commands.login_settings import external_options, login_options
from gateway.commands.notification_settings import notification_options, sending_notifications
from gateway.commands.openlineage_settings import openlineage_options, sending_events
from gateway.commands.safe_mode import begin_safe, own_session
from gateway.commands.serve_scheduler import scheduling
from gateway.commands.serve_settings import (
    limit_options,
    limits_of,
    name_variables,
    node_options,
    read_config,
)
from gateway.opening.open_warehouse import OpenWarehouse
from gateway.opening.warehouses import WAREHOUSES, TakenElsewhere
from gateway.servers.addresses import Address, parse_address, tcp_listener
from gateway.servers.admitting import admission_of, check_place, tls_files_of
from gateway.servers.client_sessions import session_of_client
from gateway.servers.control.opening import ControlOptions, check_control, control_port
from gateway.servers.ending import Ending
from gateway.servers.flight.opening import FlightOptions, check_flight, flight_port
from gateway.servers.hive.opening import HiveOptions, check_hive, hive_port
from gateway.servers.http.opening import HttpOptions, check_http, http_port
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.nodes import ServerNodes, nodes_of
from gateway.servers.pgwire.server import PostgresServer, socket_path, unix_listener
from gateway.servers.tls import ServerTls
from gateway.sharing.folder import owner_of
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

PORT = 5433
_TLS = ("tls_cert", "tls_key", "tls_client_ca")


@dataclass(frozen=True, slots=True)
class ServerPorts:
    """Where the server listens, and by which rules."""

    place: Address
    http: HttpOptions
    flight: FlightOptions
    hive: HiveOptions
    control: ControlOptions


@click.command("serve")
@click.argument("url", required=False, metavar="[PATH|URL]")
@click.option(
    "--postgres",
    "address",
    default=f"127.0.0.1:{PORT}",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to speak the PostgreSQL protocol.",
)
@click.option(
    "--socket-dir",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="The folder of the Unix socket; default: the warehouse's, or the current one.",
)
@click.option(
    "--trust-loopback",
    is_flag=True,
    help="Listen at the TCP port without logins, and let in everybody on this machine.",
)
@limit_options
@node_options
@login_options
@openlineage_options
@notification_options
@click.option(
    "--drain",
    type=click.FloatRange(0, 86_400),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long statements may still run when the server is told to end.",
)
@click.option(
    "--hive",
    "hive_address",
    metavar="HOST:PORT",
    help="Also speak HiveServer2's binary protocol there, for beeline, JDBC, PyHive and impyla.",
)
@click.option(
    "--hive-http",
    "hive_http_address",
    metavar="HOST:PORT",
    help="The same over HTTP, at /cliservice.",
)
@click.option(
    "--http",
    "http_address",
    metavar="HOST:PORT",
    help="Also answer /healthz, /readyz and /metrics there.",
)
@click.option(
    "--flight",
    "flight_address",
    metavar="HOST:PORT",
    help="Also speak Arrow Flight SQL there, under TLS or with --trust-loopback.",
)
@click.option(
    "--control",
    "control_address",
    metavar="HOST:PORT",
    help="Also answer the control API there, for governance, under TLS or with --trust-loopback.",
)
@click.option(
    "--scheduler",
    "scheduled",
    type=click.IntRange(0, 64),
    default=0,
    metavar="NUMBER",
    help="Also run jobs and declared processes when they are due, so many at once.",
)
@click.option(
    "--safe-mode",
    "begins_safe",
    is_flag=True,
    help="Begin safe mode, which lasts until palimpsest safe-mode off.",
)
@click.option(
    "--http-name",
    "http_names",
    multiple=True,
    metavar="NAME",
    help="A name by which clients call the ports of HTTP; addresses and localhost always do.",
)
@click.option(
    "--metrics-token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with the token that /metrics asks for; without it, metrics are for this machine.",
)
@click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    help="Log lines of this level and above. Default: info.",
)
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    help="Form of the log's lines, on standard error. Default: text.",
)
@click.option(
    "--slow-statement",
    "slow_s",
    type=click.FloatRange(0, 86_400),
    metavar="SECONDS",
    help="Log statements that take longer, without their values.",
)
@click.option(
    "--tls-cert",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="PALIMPSEST_TLS_CERT",
    help="The certificate of the server, with its chain, as a PEM file.",
)
@click.option(
    "--tls-key",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="PALIMPSEST_TLS_KEY",
    help="The key of the certificate; default: in the same file.",
)
@click.option(
    "--tls-client-ca",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="PALIMPSEST_TLS_CLIENT_CA",
    help="Who signs certificates by which clients log in under their common names.",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    is_eager=True,
    callback=read_config,
    envvar="PALIMPSEST_SERVE_CONFIG",
    help="A file palimpsest.toml with options.",
)
@click.option("--check", is_flag=True, help="Look at options and files, and serve nothing.")
@WAREHOUSE_OPTION
def command(
    url: str | None,
    address: str,
    socket_dir: Path | None,
    trust_loopback: bool,
    drain: float,
    hive_address: str | None,
    hive_http_address: str | None,
    http_address: str | None,
    flight_address: str | None,
    http_names: tuple[str, ...],
    metrics_token_file: Path | None,
    config: Path | None,
    check: bool,
    warehouse: str,
    **others: Any,
) -> None:
    """Serve a warehouse to clients of PostgreSQL, Hive and Flight SQL, until interrupted.

    The server listens at a Unix socket, which only the user who runs the server and root can use,
    who may do everything. It listens at the ports, too, once a role may log in with a password
    (CREATE USER), at addresses that other machines reach only with --tls-cert. With
    --trust-loopback everybody on this machine may read and write through the ports. Clients of
    Hive and of Flight SQL connect to ports of their own: --hive, --hive-http and --flight. With
    --control programs ask about entities, events and safe mode over HTTP. With --scheduler the
    server also runs jobs and processes, as palimpsest scheduler does.

    SIGTERM and Ctrl-C end it: no new clients are let in, statements that run may finish, and
    transactions that are still open after --drain seconds are rolled back.

    \b
    Examples:
      palimpsest serve
      psql -h "$PWD/warehouse" -p 5433
      palimpsest serve palimpsest+postgresql://me@localhost/company --socket-dir /run/user/1000
      palimpsest serve --trust-loopback --postgres 127.0.0.1:6000
      palimpsest serve --tls-cert server.pem --tls-key server.key --hive 0.0.0.0:10000
    """
    begin_log(LogSettings(others["log_level"], others["log_format"], others["slow_s"]), "info")
    with exit_on_error(as_json=False):
        place = parse_address(address, PORT)
        tls_files = tls_files_of(*(others[name] for name in _TLS))
        external = external_logins(external_options(others))
        http = HttpOptions(http_address, http_names, metrics_token_file)
        flight = FlightOptions(flight_address, tls_files, trust_loopback)
        hive = HiveOptions(hive_address, hive_http_address, trust_loopback, tls_files)
        control = ControlOptions(others["control_address"], http_names, trust_loopback, tls_files)
        nodes = nodes_of(others["node"], others["peers"])
        if check:
            check_place(place, trusts=trust_loopback, has_tls=tls_files is not None)
            check_http(http)
            check_flight(flight)
            check_hive(hive)
            check_control(control)
            if tls_files is not None:
                ServerTls(tls_files, ())
            click.echo("the options are fine" if config is None else f"{config} is fine")
            return
        # Those who collect lines of JSON want no others.
        with telling_if_made(url or warehouse, quiet=others["log_format"] == "json"):
            opened = _acquire(url_of(url or warehouse), config)
        allowed = limits_of(others)
        try:
            if others["begins_safe"]:
                begin_safe(opened)
            ports = ServerPorts(place, http, flight, hive, control)
            with _beside_serving(opened, others):
                _serve(opened, ports, socket_dir, allowed, drain, external, nodes)
        finally:
            WAREHOUSES.release(opened)


name_variables(command)


@contextmanager
def _beside_serving(opened: OpenWarehouse, others: dict[str, Any]) -> Iterator[None]:
    """Send what happens, and run what is due, while the server serves."""
    with (
        sending_events(opened, others),
        sending_notifications(partial(own_session, opened), others),
        scheduling(opened, others["scheduled"]),
    ):
        yield


def _acquire(url: str, config: Path | None) -> OpenWarehouse:
    """Open a warehouse to serve it; ``config`` may name the control store of its clients."""
    file = {} if config is None else {CONFIG: str(config)}
    control_store = control_elsewhere(url, os.environ | file)
    try:
        opened = WAREHOUSES.acquire(url)
    except TakenElsewhere as taken:
        taken.peer.close()
        owner = owner_of(taken.root)
        raise PalimpsestError(
            Code.NOT_SHARED,
            f"{owner or 'another program'} has the warehouse {taken.root} open",
            advice=f"connect to that server: {owner.url}"
            if owner is not None and owner.url
            else "end it first: the server must be the one that has it open",
        ) from taken
    opened.control_store = control_store
    return opened


def _serve(
    opened: OpenWarehouse,
    ports: ServerPorts,
    socket_dir: Path | None,
    limits: ServerLimits,
    drain_s: float,
    external: Sequence[ExternalLogin],
    nodes: ServerNodes,
) -> None:
    place, flight = ports.place, ports.flight
    root = Path(opened.journal.place)
    folder = socket_dir or (root if root.is_dir() else Path.cwd())
    trusts = flight.trusts
    admission = admission_of(
        *(opened.journal, place),
        trusts=trusts,
        tls_files=flight.tls,
        external=external,
        login_rate=limits.login_rate,
    )
    open_session = partial(session_of_client, opened, "postgres")
    open_hive = partial(session_of_client, opened, "hive")
    open_control = partial(session_of_client, opened, "duckdb")
    ending = Ending(drain_s)
    server = PostgresServer(open_session, limits, admission, ending, nodes)
    is_open = admission.trusts or admission.logins is not None
    listeners = [tcp_listener(place)] if is_open else []
    port = listeners[0].getsockname()[1] if listeners else place.port
    with (
        closing(admission),
        http_port(opened, ports.http, lambda: server.connections) as (readiness, page),
        flight_port(flight, admission, open_session, limits, ending) as flights,
        hive_port(ports.hive, admission, open_hive, limits, ending) as hives,
        control_port(ports.control, admission, open_control, limits, ending) as controls,
    ):
        try:
            listeners.append(unix_listener(folder, port))
            shown = [f"postgresql:///palimpsest?host={folder.resolve()}&port={port}"]
            if is_open:
                shown.append(f"postgresql://{Address(place.host, port)}/palimpsest")
            if trusts:
                open_to_all = ", ".join([*shown[1:], *flights, *hives, *controls])
                click.echo(
                    f"WARNING: everybody on this machine may read and write at {open_to_all}",
                    err=True,
                )
            over = _until_told()
            for listener in listeners:
                server.listen(listener)
            place_of_socket = quote(str(folder.resolve()))
            opened.announce_server(f"palimpsest://?host={place_of_socket}&port={port}")
            for line in (*shown, *flights, *hives, *controls, *page):
                click.echo(line)
            sys.stdout.flush()
            over.wait()
        finally:
            readiness.is_ending = True
            ending.begin()
            server.close()
            if len(listeners) > is_open:
                socket_path(folder, port).unlink(missing_ok=True)


def _until_told() -> threading.Event:
    over = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        over.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    return over
