"""Passwords in URLs: hides them, and finds them where nobody percent-encoded them. Pure."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from journal.model.errors import Code, PalimpsestError

_PASSWORD = re.compile(r"^([\w+.-]*:?//?[^:/@]*|[^:/@]*(?=:[^/])):.*@", re.DOTALL)
_GIVEN = re.compile(r"(password=)[^&]*", re.IGNORECASE)
_UNENCODED = re.compile(r"[@/#\[\]\s]|%(?![0-9A-Fa-f]{2})")


def without_password(url: str) -> str:
    """The URL without its password, also if it cannot be parsed."""
    return _GIVEN.sub(r"\1***", _PASSWORD.sub(r"\1:***@", url))


def split_secret_url(url: str) -> SplitResult:
    """The parts of a URL; raises URL, without showing it, where it has none."""
    try:
        return urlsplit(url)
    except ValueError as error:
        raise _unencoded_error() from error


def check_login(url: str) -> None:
    """Raise URL if user or password has characters that end them for whoever reads it."""
    rest = url.partition("://")[2]
    place, _, query = rest.partition("?")
    login, at, _ = place.rpartition("@")
    authority = place.partition("/")[0]
    early = ":" in authority and "@" not in authority and "@" in query.partition("=")[0]
    if early or (at and _UNENCODED.search(login)):
        raise _unencoded_error()


def _unencoded_error() -> PalimpsestError:
    return PalimpsestError(
        Code.URL,
        "user or password of the URL has a character that must be percent-encoded",
        advice="write % as %25, @ as %40, / as %2F, ? as %3F, # as %23, [ as %5B, a blank as %20;"
        " or leave the password to ~/.pgpass or PGPASSWORD",
    )
