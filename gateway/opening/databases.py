"""URLs of PostgreSQL servers, and the journals they name opened in this process.

    palimpsest+postgresql://user:password@host:port/database

What follows ``palimpsest+`` is the client library's own URL; options of the gateway are taken out
of its query. The driver is imported when the first such URL is opened.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import parse_qsl, quote, urlencode, urlunsplit

from gateway.opening.schemes import PREFIX, OpenedStore
from gateway.opening.url_secrets import check_login, split_secret_url
from journal.model.errors import Code, PalimpsestError
from journal.transactions.verification import OnlyVerified

_OPTIONS = ("clock_skew_max", "connect_timeout", "pool", "silence_timeout", "statement_timeout")
_FORSAKEN_US = 24 * 3600 * 1_000_000


def split_url(url: str) -> tuple[str, dict[str, str]]:
    """The client library's URL, and the gateway's own options."""
    check_login(url)
    parts = split_secret_url(url.removeprefix(PREFIX))
    given = parse_qsl(parts.query, keep_blank_values=True)
    options = {k: v for k, v in given if k in _OPTIONS}
    # The client library reads %20 as a blank, and + as +.
    kept = urlencode([(k, v) for k, v in given if k not in _OPTIONS], quote_via=quote)
    # Without a host, which means a socket of this machine, the slashes stay.
    rest = urlunsplit(("", "", parts.path, kept, parts.fragment))
    return f"postgresql://{parts.netloc}{rest}", options


def open_database(url: str) -> OpenedStore:
    """The journals of a database; its catalog is made where there is none."""
    conninfo, options = split_url(url)
    try:
        from journal.model.wall_clock import wall_clock_us
        from journal.stores.postgres.journal import DatabaseJournal
        from journal.stores.postgres.pool import PostgresStore, check_conninfo
        from journal.stores.postgres.verification import verify
    except ImportError as error:
        raise PalimpsestError(
            Code.DRIVER_MISSING,
            f"PostgreSQL needs a package that is not installed: {error.name}",
            advice="pip install 'palimpsest-gateway[postgres]'",
        ) from error
    check_conninfo(conninfo, _OPTIONS)
    store = PostgresStore(conninfo, options)
    try:
        journal = DatabaseJournal(store)
        journal.drop_staged(wall_clock_us() - _FORSAKEN_US)
    except BaseException:
        store.close()
        raise
    return OpenedStore(journal, OnlyVerified(partial(verify, journal)))
