"""URLs of HiveServer2 and Spark Thrift Servers, and the journals they name opened in this process.

    palimpsest+hive://user:password@host:port/database?auth=LDAP&catalog=postgresql+psycopg://..

The user and the database are the server's; the catalog is any database SQLAlchemy reaches. The
driver is imported when the first such URL is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from gateway.opening.schemes import OpenedStore
from gateway.opening.url_secrets import check_login, split_secret_url
from journal.model.errors import Code, PalimpsestError
from journal.model.spelling import spelling_hint

if TYPE_CHECKING:
    from journal.stores.hive.client.login import Server

AUTHS = ("NOSASL", "NONE", "LDAP", "CUSTOM", "KERBEROS")
_PORT = 10000
_OPTIONS = frozenset(
    "auth catalog prefix kerberos_service ssl ca_file connect_timeout statement_timeout lease"
    " held_rows views presence silence_timeout answer_timeout"
    " inline_commits inline_rows inline_age".split()
)
_FORM = "palimpsest+hive://user@host:10000/database?auth=NONE&catalog=sqlite:///catalog.db"
_LEASE_S = 15.0
_HELD_ROWS = {"Apache Hive": 100_000}
"""By engine; each statement of Apache Hive's takes seconds, and it says less than the gateway."""


def open_hive(url: str) -> OpenedStore:
    """The journals of a Hive store; its catalog is made where there is none."""
    check_login(url)
    options = options_of(url)
    try:
        from journal.stores.hive.catalog_db.engine import CatalogDatabase
        from journal.stores.hive.inlining import AGE_S, ROWS_MAX, InlineOptions
        from journal.stores.hive.journal import HiveJournal
        from journal.stores.hive.layout import Names
        from journal.stores.hive.partition_check import EVERY_S
        from journal.stores.hive.store import HiveStore
        from journal.stores.hive.upkeep import HiveUpkeep
    except ImportError as error:
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            f"Hive needs a package that is not installed: {error.name}",
            advice="pip install 'palimpsest-gateway[hive]'",
        ) from error
    server = server_of(url)
    inline_options = InlineOptions(
        _switch_option(options, "inline_commits"),
        int(_number_option(options, "inline_rows", ROWS_MAX)),
        _number_option(options, "inline_age", AGE_S),
    )
    catalog = CatalogDatabase(options.get("catalog", f"sqlite:///{server.database}.palimpsest.db"))
    store = HiveStore(server)
    try:
        with store.connection():
            pass
        journal = HiveJournal(
            store,
            catalog,
            Names(server.database, options.get("prefix", "")),
            lease_s=_number_option(options, "lease", _LEASE_S),
            held_rows=int(
                _number_option(options, "held_rows", _HELD_ROWS.get(store.engine.value, 0))
            ),
            has_views=options.get("views", "on") != "off",
            presence_s=_number_option(options, "presence", EVERY_S),
            inline_options=inline_options,
        )
    except BaseException:
        store.close()
        catalog.close()
        raise
    return OpenedStore(journal, HiveUpkeep(journal))


def options_of(url: str) -> dict[str, str]:
    """The options of a URL; raises URL for unknown ones."""
    options = dict(parse_qsl(split_secret_url(url).query, keep_blank_values=True))
    unknown = sorted(k for k in options if k not in _OPTIONS and not k.startswith("conf."))
    if unknown:
        raise PalimpsestError(
            Code.URL,
            f"the URL has an unknown option: {', '.join(unknown)}",
            advice=f"{spelling_hint(unknown[0], _OPTIONS)}known are {', '.join(sorted(_OPTIONS))},"
            " and conf.NAME for the server's own",
        )
    return options


def server_of(url: str) -> Server:
    """The server that a URL names; raises URL if the URL is incomplete."""
    from journal.files.tcp_keepalive import SILENCE_S
    from journal.stores.hive.client.login import ANSWER_S, Server

    parts = split_secret_url(url)
    options = options_of(url)
    auth = options.get("auth", "NONE").upper()
    if auth not in AUTHS:
        raise _url_error(f"auth={auth} is none of {', '.join(AUTHS)}")
    password = None if parts.password is None else unquote(parts.password)
    if auth in {"LDAP", "CUSTOM"} and password is None:
        raise _url_error(f"auth={auth} needs a password")
    if (auth == "KERBEROS") != ("kerberos_service" in options):
        raise _url_error("auth=KERBEROS and kerberos_service go together")
    if "ca_file" in options and not Path(options["ca_file"]).is_file():
        raise _url_error(f"there is no file {options['ca_file']}")
    try:
        port = parts.port or _PORT
    except ValueError as error:
        raise _url_error("its port is not a number") from error
    return Server(
        host=parts.hostname or "localhost",
        port=port,
        user=unquote(parts.username or "palimpsest"),
        database=parts.path.strip("/") or "default",
        auth=auth,
        password=password,
        kerberos_service=options.get("kerberos_service"),
        ssl=options.get("ssl", "false").lower() in {"true", "1", "on"},
        ca_file=options.get("ca_file"),
        connect_timeout_s=_number_option(options, "connect_timeout", 10.0),
        silence_timeout_s=int(_number_option(options, "silence_timeout", SILENCE_S)),
        answer_timeout_s=_number_option(options, "answer_timeout", ANSWER_S),
        statement_timeout_ms=int(_number_option(options, "statement_timeout", 0)),
        configuration={k.removeprefix("conf."): v for k, v in options.items() if "conf." in k},
    )


def _number_option(options: dict[str, str], name: str, default: float) -> float:
    try:
        return float(options.get(name, default))
    except ValueError as error:
        raise _url_error(f"{name} needs a number") from error


def _switch_option(options: dict[str, str], name: str) -> bool:
    said = options.get(name, "off").lower()
    if said not in {"on", "off"}:
        raise _url_error(f"{name} is on or off")
    return said == "on"


def _url_error(why: str) -> PalimpsestError:
    return PalimpsestError(Code.URL, f"the URL cannot be used: {why}", advice=f"use {_FORM}")
