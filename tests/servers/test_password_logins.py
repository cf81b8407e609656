"""What a front end whose protocol sends passwords asks before it lets somebody in."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import gateway
from gateway.access.logins import Logins
from gateway.servers.pgwire.admission import Admission
from journal.model.errors import PalimpsestError
from journal.model.schema import CatalogSnapshot


@pytest.fixture
def catalog(tmp_path: Path) -> CatalogSnapshot:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as connection:
        connection.execute("CREATE USER ann PASSWORD 'a long sentence'")
        connection.execute("CREATE ROLE bob PASSWORD 'another' NOLOGIN")
        connection.execute("CREATE USER old PASSWORD 'gone' VALID UNTIL '2001-01-01'")
        return connection._session.catalog


def _code(admission: Admission, user: str, password: str, *, is_secure: bool = True) -> str:
    with pytest.raises(PalimpsestError) as caught:
        admission.admit_password(user, password, "127.0.0.1", "hive", is_secure=is_secure)
    return caught.value.code.value.code


def test_a_password_lets_its_role_in_under_tls_alone(catalog: CatalogSnapshot) -> None:
    logins = Logins(lambda: catalog, b"secret", lambda: datetime.now(UTC))
    admission = Admission(logins=logins)
    role = admission.admit_password("ann", "a long sentence", "127.0.0.1", "hive", is_secure=True)
    assert role is not None
    assert role.name == "ann"
    assert _code(admission, "ann", "a long sentence", is_secure=False) == "PAL-609"
    for user, password in (("ann", "no"), ("old", "gone"), ("nobody", ""), ("ann", "")):
        assert _code(admission, user, password) == "PAL-611", user
    assert _code(admission, "bob", "another") == "PAL-609"


def test_who_is_trusted_needs_none_and_without_logins_nobody_comes_in() -> None:
    assert (
        Admission(trusts=True).admit_password("x", "", "127.0.0.1", "hive", is_secure=False) is None
    )
    assert _code(Admission(), "x", "y") == "PAL-609"
