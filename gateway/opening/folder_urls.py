"""URLs of folders with an embedded warehouse: what they name, without opening it.

palimpsest:///relative/path    palimpsest:////absolute/path    palimpsest:// (a temporary one)
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from gateway.network.urls import is_server_url
from gateway.opening.url_secrets import split_secret_url, without_password
from journal.local_engine.file_modes import MODE_SETTING, FileModes, configured, make_root
from journal.model.errors import Code, PalimpsestError
from journal.model.places import is_elsewhere, is_file_system, shown_place
from journal.model.spelling import spelling_hint
from journal.stores.embedded.file_names import DATABASE_FILE

_SERVERS = {
    **dict.fromkeys(("hive2", "hive", "spark", "thrift", "sparksql"), "hive"),
    **dict.fromkeys(("postgresql", "postgres", "redshift", "greenplum"), "postgresql"),
}
"""Schemes of other programs' URLs, and the kind of store that they stand for here."""
_DEFAULTS = {"hive": ("host:10000", "default"), "postgresql": ("host:5432", "database")}
_PAGES = {"hive": "docs/hive.md", "postgresql": "docs/postgresql.md"}
_ENDS = re.compile(r"[;?#]")
SCHEME_NAMES = ("palimpsest", "palimpsest+postgresql", "palimpsest+hive")
_FORMS = (
    "palimpsest:///relative/path, palimpsest:////absolute/path, palimpsest:// (a temporary one),"
    " palimpsest+postgresql://user@host:port/database, palimpsest+hive://user@host:port/database,"
    " or, for a program that connects to a server, palimpsest://user@host:port/"
)


def key(url: str) -> str | None:
    """The folder of a URL; None for a temporary one."""
    path, _ = parse_url(url)
    return None if path is None else str(path.resolve())


def shared_folder(url: str) -> Path | None:
    """The folder of a URL, made if it is not there; None for a temporary one."""
    path, settings = parse_url(url)
    if path is None:
        return None
    make_folder(path.resolve(), configured(settings.get(MODE_SETTING)))
    return path.resolve()


def parse_url(url: str) -> tuple[Path | None, dict[str, str]]:
    """Path of the warehouse (None: a temporary one) and settings of the store."""
    parts = split_secret_url(url)
    shown = without_password(url)
    _refuse_server_urls(url, shown)
    if is_file_system(url) or is_elsewhere(unquote(parts.path[1:])):
        raise PalimpsestError(
            Code.URL,
            f"a warehouse lies in a folder of this machine, and {shown_place(shown)} is not one",
            advice="name a folder, mounted if need be; copy rows and backups to other places:"
            " CALL system.backup('t', to => 's3://..'), COPY t TO 's3://..'",
        )
    if parts.scheme != "palimpsest" or parts.netloc or is_server_url(url):
        raise PalimpsestError(
            Code.URL,
            f"the URL {shown} is not one this gateway can open",
            advice=f"{spelling_hint(parts.scheme, SCHEME_NAMES)}use {_FORMS}",
        )
    path = unquote(parts.path, errors="surrogateescape")
    if path in {"", "/"}:
        return None, dict(parse_qsl(parts.query))
    return Path(path[1:]), dict(parse_qsl(parts.query))


def _refuse_server_urls(url: str, shown: str) -> None:
    """Raise URL, with the form that is wanted, for a server's URL as other programs write it."""
    scheme, _, rest = url.removeprefix("jdbc:").partition("://")
    kind = _SERVERS.get(scheme.partition("+")[0].lower())
    if kind is None or not rest:
        return
    host, database = _DEFAULTS[kind]
    place, _, named = _ENDS.split(rest.rpartition("@")[2])[0].partition("/")
    # Several hosts are those of ZooKeeper, which knows the server's.
    wanted = f"palimpsest+{kind}://user@{host if ',' in place else place or host}"
    wanted += f"/{named or database}"
    if kind == "hive":
        auth = "NOSASL" if "auth=nosasl" in url.lower() else "NONE"
        wanted += f"?auth={auth}&catalog=sqlite:///catalog.db"
    raise PalimpsestError(
        Code.URL,
        f"the URL {shown} is one of other programs, which this gateway does not open",
        advice=f"write {wanted}; {_PAGES[kind]} lists the options",
    )


def make_folder(root: Path, modes: FileModes | None) -> None:
    """Make the folder of a warehouse where there is none; raises FILE_ACCESS.

    DuckDB takes paths as UTF-8 only, which a name that another system wrote need not be.
    """
    try:
        str(root).encode()
    except UnicodeEncodeError as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the path of the warehouse is not text in UTF-8: {os.fsencode(root)!r}",
            advice="rename the folder",
        ) from error
    try:
        if not (root / DATABASE_FILE).exists():
            make_root(root, modes)
    except OSError as error:
        raise PalimpsestError(
            Code.FILE_ACCESS,
            f"the warehouse {root} cannot be made: {error.strerror}",
            advice="check path and permissions",
        ) from error


def check_exists(url: str, shown: str | None = None) -> None:
    """Raise URL for a folder without a warehouse, which opening it would make."""
    path, _ = parse_url(url)
    shown = shown or str(path)
    if path is not None and not (path / DATABASE_FILE).is_file():
        raise PalimpsestError(
            Code.URL,
            f"there is no warehouse at {shown}",
            advice=f"make one with: palimpsest init {shlex.quote(shown)}; or name another",
        )
