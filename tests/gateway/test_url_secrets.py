"""Passwords in URLs, whole and mangled: no error shows them."""

from __future__ import annotations

import traceback
from pathlib import Path
from urllib.parse import unquote

import pytest
from sqlalchemy import make_url

import gateway
from gateway.commands.connecting import Access, connect
from gateway.opening.url_secrets import check_login, split_secret_url, without_password
from gateway.sqlalchemy_dialect import PalimpsestDialect

pytest.importorskip("psycopg")
pytest.importorskip("pyhive")
SERVERS = ("palimpsest+postgresql://me:{}@127.0.0.1:1/a", "palimpsest+hive://me:{}@127.0.0.1:1/a")
MISTAKES = (
    "postgresql://me:{}@127.0.0.1:1/a",
    "palimpsest+mysql://me:{}@127.0.0.1:1/a",
    "palimpsest+postgresql:/me:{}@127.0.0.1:1/a",
    "palimpsest+postgresql://me:{}@127.0.0.1:port/a",
    "palimpsest+postgresql://me@127.0.0.1:1/a?password={}&nonsense=1",
    "palimpsest+hive://me:{}@127.0.0.1:1/a?auth=MAGIC",
    "palimpsest+hive://me@127.0.0.1:1/a?catalog=postgresql://me:{}@127.0.0.1:1/a",
)
SECRET = "HUSHHUSH"


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Hive URL without a catalog keeps one in the folder where the gateway runs."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("character", ["", "@", "/", "%", "?", "[", "#", ":", " "])
@pytest.mark.parametrize("url", [*SERVERS, *MISTAKES])
def test_no_error_shows_a_password(url: str, character: str) -> None:
    whole = url.format(SECRET + character + SECRET)
    for opening in (gateway.connect, lambda u: connect(Access(u, "duckdb", None, None), "query")):
        with pytest.raises(gateway.Error) as raised:
            opening(whole)
        said = "".join(traceback.format_exception(raised.value))
        assert SECRET not in said.replace(whole, "")
        assert SECRET not in str(raised.value)


def test_what_has_to_be_encoded_is_told() -> None:
    for character in "@/%?[":
        with pytest.raises(gateway.Error, match="percent-encoded"):
            gateway.connect(SERVERS[0].format(f"a{character}b"))


def test_urls_are_shown_without_passwords() -> None:
    shown = {
        "palimpsest+postgresql://me:p@host:1/a": "palimpsest+postgresql://me:***@host:1/a",
        "postgresql://me:p@ss:w@host/a": "postgresql://me:***@host/a",
        "postgresql://host:1/a?password=p&x=1": "postgresql://host:1/a?password=***&x=1",
        "palimpsest:///my/folder": "palimpsest:///my/folder",
        "me@host": "me@host",
        "palimpsest+postgresql://me@host:1/a": "palimpsest+postgresql://me@host:1/a",
        "palimpsest+postgresql:/me:p@host": "palimpsest+postgresql:/me:***@host",
        "me:p@host": "me:***@host",
    }
    assert {url: without_password(url) for url in shown} == shown


@pytest.mark.parametrize("scheme", ["palimpsest", "palimpsest+postgresql", "palimpsest+hive"])
def test_sqlalchemy_hands_passwords_over_as_they_were_encoded(scheme: str) -> None:
    """A blank in one was refused, as if nobody had encoded it."""
    given = f"{scheme}://an%20n:a%20long%2Bsentence%40%2F@host:5433/my%20base"
    (text,), _ = PalimpsestDialect().create_connect_args(make_url(given))
    check_login(text)
    parts = split_secret_url(text)
    assert (unquote(parts.username or ""), unquote(parts.password or "")) == (
        "an n",
        "a long+sentence@/",
    )
    assert unquote(parts.path) == "/my base"
