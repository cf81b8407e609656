"""Logins that others vouch for: a real LDAP server, and tokens signed by a key of the test's."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

import gateway
from gateway.access.external import ExternalOptions, external_logins
from gateway.access.ldap_bind import LdapBind
from journal.model.errors import PalimpsestError
from tests.servers.test_logins import Secured
from tests.support.certificates import make_certificates
from tests.support.warm_python import warm_python

ISSUER, AUDIENCE = "https://id.example.org", "palimpsest"
DN = "uid={user},dc=example,dc=org"
ENTRIES = """\
dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
dc: example
o: example

dn: uid=ann,dc=example,dc=org
objectClass: account
objectClass: simpleSecurityObject
uid: ann
userPassword: from the directory
"""
CONFIG = """\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCACertificateFile {folder}/ca.pem
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
database mdb
suffix "dc=example,dc=org"
directory {folder}/data
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates, the issuer's keys, and a warehouse with roles."""
    found = tmp_path_factory.mktemp("external")
    make_certificates(found, {"server": "localhost"})
    with gateway.connect(f"palimpsest:///{found}/w", autocommit=True) as con:
        for sql in (
            "CREATE TABLE t (k INTEGER PRIMARY KEY)",
            "CREATE USER ann",
            "CREATE USER own PASSWORD 'its own'",
            "CREATE USER old VALID UNTIL '2001-01-01'",
            "CREATE ROLE bob",
            "GRANT SELECT ON t TO ann",
        ):
            con.execute(sql)
    return found


@pytest.fixture(scope="module")
def key(folder: Path) -> ec.EllipticCurvePrivateKey:
    """The issuer's key, whose public part is in ``keys.json``."""
    made = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(made.public_key()))
    (folder / "keys.json").write_text(json.dumps({"keys": [{**public, "kid": "one"}]}))
    return made


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def directory(folder: Path) -> Iterator[tuple[int, int]]:
    """The ports of an LDAP server, with StartTLS and with TLS from the start."""
    slapd = shutil.which("slapd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])
    if slapd is None:
        pytest.skip("slapd is not installed (on Debian: apt-get install slapd)")
    (folder / "data").mkdir()
    config, entries = folder / "slapd.conf", folder / "entries.ldif"
    config.write_text(CONFIG.format(folder=folder))
    entries.write_text(ENTRIES)
    add = [slapd, "-T", "add", "-f", str(config), "-l", str(entries)]
    subprocess.run(add, check=True, capture_output=True)
    plain, tls = _free_port(), _free_port()
    urls = f"ldap://localhost:{plain} ldaps://localhost:{tls}"
    process = subprocess.Popen([slapd, "-f", str(config), "-h", urls, "-d", "0"])
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", tls), 1).close()
            break
        except OSError:
            time.sleep(0.05)
    yield plain, tls
    process.terminate()
    process.wait(20)


@pytest.fixture(scope="module")
def server(
    folder: Path, directory: tuple[int, int], key: ec.EllipticCurvePrivateKey
) -> Iterator[Secured]:
    command = [
        *(warm_python(), "-m", "gateway.cli", "serve", str(folder / "w")),
        *("--postgres", "127.0.0.1:0", "--socket-dir", str(folder)),
        *("--tls-cert", str(folder / "server.pem"), "--tls-key", str(folder / "server.key")),
        *("--jwt-keys", str(folder / "keys.json"), "--jwt-issuer", ISSUER),
        *("--jwt-audience", AUDIENCE),
        *("--ldap-url", f"ldaps://localhost:{directory[1]}", "--ldap-dn", DN),
        *("--ldap-ca", str(folder / "ca.pem")),
    ]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    ports = (re.fullmatch(r"postgresql://127\.0\.0\.1:(\d+)/palimpsest\n", line) for line in lines)
    port = next((int(found[1]) for found in ports if found), 0)
    assert port, process.communicate(timeout=60)
    yield Secured(port, process, folder)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


def _token(key: Any, **changed: Any) -> str:
    algorithm = changed.pop("algorithm", "ES256")
    claims = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60, **changed}
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(kept, key, algorithm=algorithm, headers={"kid": "one"})


def _state(server: Secured, user: str, password: str, **options: str) -> str:
    try:
        server.connect(user, password, **options).close()
    except psycopg.OperationalError as error:
        return "28P01" if "password authentication failed" in str(error) else str(error)
    return ""


def test_the_directory_and_the_issuer_let_users_in(
    server: Secured, key: ec.EllipticCurvePrivateKey
) -> None:
    for password in ("from the directory", _token(key)):
        with server.connect("ann", password) as connection:
            row = connection.execute("SELECT current_user, count(*) FROM t").fetchone()
            assert row == ("ann", 0)
    with server.connect("own", "its own") as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("own",)
    url = f"palimpsest://ann:{_token(key)}@localhost:{server.port}/?sslmode=require"
    with gateway.connect(url) as connection:
        assert connection.execute("SELECT current_user").fetchall() == [("ann",)]


@pytest.mark.slow
@pytest.mark.parametrize("user", ["ann", "own", "old", "nobody", "*"])
def test_tokens_of_others_are_refused(
    server: Secured, key: ec.EllipticCurvePrivateKey, user: str
) -> None:
    assert _state(server, user, "wrong") == "28P01"
    if user != "ann":
        assert _state(server, user, "from the directory") == "28P01"
        assert _state(server, user, _token(key)) == "28P01"
        assert _state(server, "old", _token(key, sub="old")) == "28P01"


@pytest.mark.slow
def test_a_token_must_be_whole(server: Secured, key: ec.EllipticCurvePrivateKey) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    secret = (server.folder / "keys.json").read_text()
    for token in (
        _token(other),
        _token(key, exp=time.time() - 3600),
        _token(key, exp=None),
        _token(key, iss="https://elsewhere.example.org"),
        _token(key, aud="another"),
        _token(key, sub="own"),
        _token(key, sub=None),
        _token(None, algorithm="none"),
        _token(secret * 2, algorithm="HS256"),
        _token(key)[:-6] + "AAAAAA",
        "a.b.c",
    ):
        assert _state(server, "ann", token) == "28P01", token
    # The key is looked up anew, and its issuer goes on after all of this.
    with server.connect("ann", _token(key)) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_passwords_go_under_tls_only(server: Secured, key: ec.EllipticCurvePrivateKey) -> None:
    said = _state(server, "ann", _token(key), sslmode="disable", host="127.0.0.1")
    assert "the server takes passwords under TLS only" in said
    assert _state(server, "own", "its own", sslmode="disable", host="127.0.0.1") == ""


def test_the_directory_is_asked_under_tls_only(
    folder: Path, directory: tuple[int, int], tmp_path: Path
) -> None:
    plain, tls = directory
    for url in (f"ldap://localhost:{plain}", f"ldaps://localhost:{tls}"):
        assert LdapBind(url, DN, folder / "ca.pem").is_users("ann", "from the directory")
        assert not LdapBind(url, DN, folder / "ca.pem").is_users("ann", "")
        assert not LdapBind(url, DN, folder / "ca.pem").is_users("ann,dc=example", "x")
        make_certificates(tmp_path, {})
        # Of an authority that did not sign the server's certificate nothing is believed.
        assert not LdapBind(url, DN, tmp_path / "ca.pem").is_users("ann", "from the directory")
    gone = LdapBind(f"ldaps://localhost:{_free_port()}", DN, folder / "ca.pem")
    assert not gone.is_users("ann", "from the directory")


def test_keys_come_from_a_url(
    folder: Path, key: ec.EllipticCurvePrivateKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (folder / "keys.json").read_bytes()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text)

        def log_request(self, *_: Any) -> None:
            pass

    web = HTTPServer(("localhost", 0), Keys)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    web.socket = context.wrap_socket(web.socket, server_side=True)
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))
    options = ExternalOptions(f"https://localhost:{web.server_port}/keys", ISSUER, AUDIENCE)
    try:
        (tokens,) = external_logins(options)
        assert tokens.is_users("ann", _token(key))
        assert not tokens.is_users("own", _token(key))
    finally:
        web.shutdown()
        thread.join()
        web.server_close()
    (tokens,) = external_logins(options)
    assert not tokens.is_users("ann", _token(key))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (ExternalOptions("keys.json"), "give --jwt-issuer and --jwt-audience"),
        (ExternalOptions("http://x/keys", ISSUER, AUDIENCE), "give an https URL"),
        (ExternalOptions(ldap="http://x", dn=DN), "write ldaps://host"),
        (ExternalOptions(ldap="ldaps://x"), "give --ldap-dn"),
    ],
)
def test_options_that_leave_a_door_open_are_refused(options: ExternalOptions, said: str) -> None:
    with pytest.raises(PalimpsestError) as raised:
        external_logins(options)
    assert said in raised.value.advice
