"""Passwords and TLS, on a Thrift Server that asks a directory and shows a certificate."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from tests.support.directory import Directory
from tests.support.thrift_server import ThriftServer, own

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PASSWORD = "right-s3cret"
_STORE = "not-a-secret"


def _certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A key store with a certificate of this machine's, and the certificate alone."""
    keytool = shutil.which("keytool")
    if keytool is None:
        pytest.skip("no keytool here: it comes with Java")
    store, pem = folder / f"{name}.p12", folder / f"{name}.pem"
    place = ["-keystore", str(store), "-storepass", _STORE, "-alias", "server"]
    made = ["-genkeypair", "-keyalg", "RSA", "-dname", "CN=localhost", "-storetype", "PKCS12"]
    names = ["-ext", "SAN=ip:127.0.0.1,dns:localhost", "-ext", "BC=ca:true"]
    subprocess.run([keytool, *made, *names, *place], check=True, capture_output=True)
    export = ["-exportcert", "-rfc", "-file", str(pem)]
    subprocess.run([keytool, *export, *place], check=True, capture_output=True)
    return store, pem


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("login")


@pytest.fixture(scope="module")
def strict(folder: Path) -> Iterator[ThriftServer]:
    """The server."""
    directory = Directory("uid=ann,dc=example", PASSWORD)
    store, _ = _certificate(folder, "server")
    settings = {
        "hive.server2.authentication": "LDAP",
        "hive.server2.authentication.ldap.url": f"ldap://127.0.0.1:{directory.port}",
        "hive.server2.authentication.ldap.baseDN": "dc=example",
        "hive.server2.use.SSL": "true",
        "hive.server2.keystore.path": str(store),
        "hive.server2.keystore.password": _STORE,
    }
    with own(settings) as server:
        yield server
    directory.close()


def _url(server: ThriftServer, folder: Path, password: str = PASSWORD, **options: str) -> str:
    told = {"auth": "LDAP", "ssl": "true", "ca_file": str(folder / "server.pem")}
    found = server.new_store(folder, **(told | {"connect_timeout": "20"} | options))
    return found.replace("tester@", f"ann:{password}@")


def test_the_right_password_over_tls(strict: ThriftServer, folder: Path) -> None:
    with gateway.connect(_url(strict, folder), autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t SELECT i FROM range(3) r(i)")
        assert con.execute("SELECT sum(k) FROM t").fetchall() == [(3,)]


@pytest.mark.parametrize(
    ("password", "options", "code"),
    [
        ("wrong-s3cret", {}, "PAL-521"),
        (PASSWORD, {"ca_file": "{folder}/other.pem"}, "PAL-520"),
        (PASSWORD, {"ca_file": "{folder}/missing.pem"}, "PAL-603"),
        (PASSWORD, {"ssl": "false"}, "PAL-520"),
        (PASSWORD, {"auth": "NOSASL"}, "PAL-520"),
    ],
    ids=["password", "certificate", "no certificate", "no TLS", "no login"],
)
def test_what_keeps_from_logging_in(
    strict: ThriftServer,
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    password: str,
    options: dict[str, str],
    code: str,
) -> None:
    if "other" in options.get("ca_file", ""):
        _certificate(folder, "other")
    told = {k: v.format(folder=folder) for k, v in options.items()} | {"connect_timeout": "5"}
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(_url(strict, folder, password, **told))
    assert raised.value.code == code
    shown, error = caplog.text, raised.value
    while error is not None:
        shown += f"{error!r} {error}"
        error = error.__cause__  # type: ignore[assignment]
    assert "s3cret" not in shown
