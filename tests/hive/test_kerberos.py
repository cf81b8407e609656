"""Kerberos, on servers that have a key table, with a key distribution centre of their own.

A Thrift Server of Spark's, and Apache Hive where it was asked for.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from tests.support import apache_hive, kerberos
from tests.support.kerberos import REALM, Centre
from tests.support.thrift_server import ThriftServer, own

pytestmark = [pytest.mark.stores, pytest.mark.slow, pytest.mark.timeout(900)]
HOST, SERVICE = "localhost", "hive"


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Centre]:
    reason = kerberos.why_none()
    if reason is not None:
        pytest.skip(f"no Kerberos here: {reason}")
    with kerberos.centre(tmp_path_factory.mktemp("kdc")) as found:
        yield found


@pytest.fixture(scope="module", params=["spark", "apache"])
def server(request: pytest.FixtureRequest, kdc: Centre) -> Iterator[ThriftServer]:
    """A server that takes nobody without a ticket for hive/localhost."""
    keys = kdc.principal(f"{SERVICE}/{HOST}")
    kdc.principal(f"other/{HOST}")
    settings = {
        "hive.server2.authentication": "KERBEROS",
        "hive.server2.authentication.kerberos.principal": f"{SERVICE}/{HOST}@{REALM}",
        "hive.server2.authentication.kerberos.keytab": str(keys),
        "hive.server2.enable.doAs": "false",
    }
    secure = {"hadoop.security.authentication": "kerberos"}
    java = f"-Djava.security.krb5.conf={kdc.conf}"
    if request.param == "apache":
        # Tez wants its folders to belong to whom the server logs in as.
        rule = f"RULE:[2:$1@$0]({SERVICE}@{REALM})s/.*/{getpass.getuser()}/"
        secure["hadoop.security.auth_to_local"] = f"{rule}\nDEFAULT"
        secure["yarn.resourcemanager.principal"] = f"{SERVICE}/{HOST}@{REALM}"
        # Else Tez asks itself for a ticket, in the same process.
        settings["tez.local.mode.without.network"] = "true"
        with apache_hive.own(settings, secure, java) as server:
            yield server
        return
    conf = {f"spark.hadoop.{name}": value for name, value in secure.items()}
    with own(settings, conf=conf, java=java) as found:
        yield found


@pytest.fixture
def cache(kdc: Centre, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process looks for tickets; there is none yet."""
    pytest.importorskip("kerberos", reason="no kerberos here: pip install kerberos")
    monkeypatch.setenv("KRB5_CONFIG", str(kdc.conf))
    found = kdc.folder / "none.cache"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{found}")
    return found


def _url(server: ThriftServer, folder: Path, service: str = SERVICE) -> str:
    found = server.new_store(folder, auth="KERBEROS", kerberos_service=service)
    return found.replace("@127.0.0.1", f"@{HOST}")


@pytest.fixture(scope="module")
def ticket(kdc: Centre) -> Path:
    return kdc.ticket("ann", kdc.principal("ann"))


@pytest.fixture
def logged_in(ticket: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{ticket}")


@pytest.mark.usefixtures("logged_in")
def test_a_ticket_lets_in(server: ThriftServer, tmp_path: Path) -> None:
    with gateway.connect(_url(server, tmp_path), autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t SELECT i FROM range(3) r(i)")
        assert con.execute("SELECT sum(k) FROM t").fetchall() == [(3,)]


@pytest.mark.usefixtures("cache")
def test_without_a_ticket_it_is_said_what_to_do(server: ThriftServer, tmp_path: Path) -> None:
    with pytest.raises(gateway.Error, match="kinit") as raised:
        gateway.connect(_url(server, tmp_path))
    assert raised.value.code == "PAL-521"


@pytest.mark.usefixtures("logged_in")
@pytest.mark.parametrize("service", ["nobody", "other"])
def test_the_name_of_another_service(server: ThriftServer, tmp_path: Path, service: str) -> None:
    """One that the centre does not know, and one whose key the server does not have."""
    with pytest.raises(gateway.Error, match="kerberos_service") as raised:
        gateway.connect(_url(server, tmp_path, service))
    assert raised.value.code == "PAL-521"


@pytest.mark.usefixtures("logged_in")
def test_a_password_is_not_enough(server: ThriftServer, tmp_path: Path) -> None:
    url = server.new_store(tmp_path, auth="LDAP", connect_timeout="20")
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(url.replace("tester@", "ann:secret@"))
    assert raised.value.code in {"PAL-520", "PAL-521"}
