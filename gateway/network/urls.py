"""URLs of servers: what tells them from those of folders, and how libpq reads them. Pure.

palimpsest://user@host:5433/    palimpsest://?host=/folder/of/the/socket&port=5433
"""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from journal.model.errors import Code, PalimpsestError

SCHEME = "palimpsest"
PORT = 5433
DATABASE = "palimpsest"
_OURS = "application_name"


def is_server_url(url: str) -> bool:
    """True for a URL of our scheme that names a host, or the folder of a server's socket."""
    scheme, _, rest = url.partition("://")
    if scheme != SCHEME:
        return False
    place, _, query = rest.partition("?")
    return bool(place.partition("/")[0]) or bool({"host", "service"} & set(parse_qs(query)))


def conninfo_of(url: str) -> tuple[str, dict[str, str]]:
    """What libpq takes for a server's URL: a URL of its own, and what that leaves out.

    Every parameter of libpq may stand behind ``?``, such as ``sslmode`` and ``sslrootcert``. Raises
    URL for a path with more than the name of a database.
    """
    rest = url.partition("://")[2]
    place, _, query = rest.partition("?")
    authority, _, path = place.partition("/")
    if "/" in path:
        raise PalimpsestError(
            Code.URL,
            "a server has one warehouse, and its URL no folders",
            advice="write palimpsest://user@host:5433/, or palimpsest:////folder with four slashes"
            " for a folder of this machine",
        )
    given = parse_qs(query)
    defaults = {} if path or "dbname" in given else {"dbname": DATABASE}
    hosts = authority.rpartition("@")[2].split(",")
    if "port" not in given and not any(_has_port(host) for host in hosts):
        defaults["port"] = str(PORT)
    return f"postgresql://{rest}", defaults


def user_of_url(url: str) -> str | None:
    """The user that the URL names."""
    return urlsplit(url).username or next(iter(parse_qs(urlsplit(url).query).get("user", ())), None)


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]
