"""Logins over TCP with real clients: SCRAM, TLS, certificates, and who stays outside."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

import gateway
from gateway.servers.tls import ServerTls, TlsFiles, end_point
from tests.support.certificates import make_certificates, run_openssl
from tests.support.repeatedly import repeatedly
from tests.support.warm_python import warm_python

PASSWORD = "one"


@dataclass(frozen=True, slots=True)
class Secured:
    """A server with logins, and the folder of its certificates."""

    port: int
    process: subprocess.Popen[str]
    folder: Path

    def connect(
        self, user: str = "ann", password: str = PASSWORD, **options: str
    ) -> psycopg.Connection:
        given = {
            "host": "localhost", "port": str(self.port), "user": user, "password": password,
            "dbname": "palimpsest", "sslmode": "verify-full",
            "sslrootcert": str(self.folder / "ca.pem"), **options,
        }  # fmt: skip
        return psycopg.connect(**given, autocommit=True)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_at(tmp_path_factory.mktemp("logins")) as server:
        yield server


@contextmanager
def secured_at(folder: Path, *options: str) -> Iterator[Secured]:
    """A server with logins and certificates, on a new warehouse ``w`` in a folder."""
    make_certificates(folder, {"server": "localhost", "ann": "ann", "other": "localhost"})
    with gateway.connect(f"palimpsest:///{folder}/w", autocommit=True) as con:
        for sql in (
            "CREATE TABLE t (k INTEGER PRIMARY KEY, pay INTEGER)",
            "INSERT INTO t VALUES (1, 10)",
            "CREATE TABLE hidden (k INTEGER PRIMARY KEY)",
            "CREATE USER ann PASSWORD 'one'",
            "CREATE USER old PASSWORD 'one' VALID UNTIL '2001-01-01'",
            "CREATE USER few PASSWORD 'one' CONNECTION LIMIT 1",
            "CREATE USER keyless",
            "CREATE ROLE locked PASSWORD 'one'",
            "CREATE ROLE chief LOGIN SUPERUSER PASSWORD 'one'",
            "GRANT SELECT (k), INSERT ON t TO ann",
        ):
            con.execute(sql)
    process = subprocess.Popen(
        [warm_python(), "-m", "gateway.cli", "serve", str(folder / "w"),
         "--postgres", "127.0.0.1:0", "--socket-dir", str(folder),
         "--tls-cert", str(folder / "server.pem"), "--tls-key", str(folder / "server.key"),
         "--tls-client-ca", str(folder / "ca.pem"), *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    port = 0
    for line in process.stdout:
        found = re.fullmatch(r"postgresql://127\.0\.0\.1:(\d+)/palimpsest\n", line)
        if found:
            port = int(found[1])
            break
    assert port, process.communicate(timeout=60)
    yield Secured(port, process, folder)
    process.terminate()
    process.communicate(timeout=60)


def test_a_login_has_the_privileges_of_its_role(secured: Secured) -> None:
    with secured.connect() as con:
        assert con.execute("SELECT current_user, session_user").fetchone() == ("ann", "ann")
        assert con.execute("SELECT k FROM t").fetchall() == [(1,)]
        for sql, state in (
            ("SELECT pay FROM t", "42501"),
            ("SELECT * FROM hidden", "42P01"),
            ("SET ROLE chief", "42501"),
            ("SELECT * FROM system.transactions", "42501"),
            ("CREATE USER eve PASSWORD 'x'", "42501"),
        ):
            with pytest.raises(psycopg.Error) as raised:
                con.execute(sql)
            assert raised.value.sqlstate == state, sql
        assert con.info.parameter_status("is_superuser") == "off"
        with con.cursor() as cursor, cursor.copy("COPY t FROM STDIN") as copy:
            copy.write_row((2, 20))
        found = con.execute(
            "SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r'"
        ).fetchall()
        assert found == [("t",)]
    with secured.connect("chief") as con:
        assert con.execute("SELECT count(*) FROM hidden").fetchone() == (0,)
        assert con.execute("SELECT sum(pay) FROM t").fetchone() == (30,)


@pytest.mark.parametrize("binding", ["require", "disable"])
def test_scram_is_bound_to_tls(secured: Secured, binding: str) -> None:
    with secured.connect(channel_binding=binding) as con:
        assert con.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("user", "password", "state"),
    [
        ("ann", "two", "28P01"),
        ("ann", "", "28P01"),
        ("nobody", "one", "28P01"),
        ("old", "one", "28P01"),
        ("keyless", "one", "28P01"),
        ("locked", "one", "28000"),
        ("locked", "two", "28P01"),
    ],
)
def test_wrong_users_and_passwords_are_refused(
    secured: Secured, user: str, password: str, state: str
) -> None:
    with pytest.raises(psycopg.OperationalError) as raised:
        secured.connect(user, password or "x")
    code = {"28P01": "PAL-611", "28000": "PAL-609"}[state]
    assert code in str(raised.value)


def test_guessing_takes_longer_and_longer(secured: Secured) -> None:
    taken = []
    for _ in range(6):
        start = time.monotonic()
        with pytest.raises(psycopg.OperationalError):
            secured.connect("guessed", "x")
        taken.append(time.monotonic() - start)
    assert taken[-1] > 0.9 > taken[0]
    with secured.connect() as con:
        assert con.execute("SELECT 1").fetchone() == (1,)


def test_an_address_logs_in_so_often_a_minute(tmp_path: Path) -> None:
    """By password or certificate; at the Unix socket as often as one likes."""
    with secured_at(tmp_path, "--max-login-rate", "3") as server:
        server.connect().close()
        with pytest.raises(psycopg.OperationalError, match="PAL-611"):
            server.connect("ann", "wrong")
        pair = {"sslcert": str(tmp_path / "ann.pem"), "sslkey": str(tmp_path / "ann.key")}
        server.connect(password="", **pair).close()
        for given in ({}, {"password": "", **pair}):
            with pytest.raises(psycopg.OperationalError, match=r"PAL-636(?s:.*)again in \d+ sec"):
                server.connect(**given)
        with psycopg.connect(host=str(tmp_path), port=server.port, dbname="palimpsest") as local:
            assert local.execute("SELECT 1").fetchone() == (1,)


def test_a_role_has_so_many_connections(secured: Secured) -> None:
    with secured.connect("few"):
        with pytest.raises(psycopg.OperationalError, match="PAL-608"):
            secured.connect("few")
    time.sleep(0.2)
    secured.connect("few").close()


def test_a_client_may_show_a_certificate(secured: Secured) -> None:
    pair = {
        "sslcert": str(secured.folder / "ann.pem"), "sslkey": str(secured.folder / "ann.key"),
    }  # fmt: skip
    with secured.connect(password="", **pair) as con:
        assert con.execute("SELECT current_user").fetchone() == ("ann",)
    with pytest.raises(psycopg.OperationalError):
        secured.connect("chief", "wrong", **pair)


def test_tls_may_begin_at_once(secured: Secured) -> None:
    if psycopg.pq.version() < 170000:
        pytest.skip("libpq before 17 asks first")
    with secured.connect(sslnegotiation="direct") as con:
        assert con.execute("SELECT 1").fetchone() == (1,)


def test_on_the_loopback_tls_is_not_demanded(secured: Secured) -> None:
    with secured.connect(sslmode="disable") as con:
        assert con.execute("SELECT 1").fetchone() == (1,)


def test_statements_are_cancelled_under_tls(secured: Secured) -> None:
    with secured.connect("chief") as con:
        con.execute("SET statement_timeout = 0")
        cancel = con.cancel_safe if hasattr(con, "cancel_safe") else con.cancel
        with pytest.raises(psycopg.errors.QueryCanceled), repeatedly(cancel, 0.5):
            con.execute("SELECT sum(sqrt(x)) FROM range(20000000000) AS r(x)")
        assert con.execute("SELECT 1").fetchone() == (1,)


def test_a_client_changes_its_password_without_sending_it(secured: Secured) -> None:
    with secured.connect("few") as con:
        made = con.pgconn.encrypt_password(b"two", b"few").decode()
        assert made.startswith("SCRAM-SHA-256$")
        con.execute(f"ALTER USER few PASSWORD '{made}'")
    with pytest.raises(psycopg.OperationalError, match="PAL-611"):
        secured.connect("few")
    with secured.connect("few", "two") as con:
        con.execute("ALTER ROLE few PASSWORD 'one'")


def test_who_one_is_can_be_described(secured: Secured) -> None:
    with secured.connect() as con, con.cursor(binary=True) as cursor:
        cursor.execute("SELECT current_user || %s", ("!",), prepare=True)
        assert cursor.fetchone() == ("ann!",)


def test_psql_logs_in(secured: Secured) -> None:
    dsn = f"host=localhost port={secured.port} user=ann dbname=palimpsest sslmode=require"
    done = subprocess.run(
        ["psql", dsn, "-Atc", "SELECT k FROM t WHERE k = 1", "-c", "\\conninfo"],
        env={**os.environ, "PGPASSWORD": "one"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[0] == "1"
    assert "SSL connection" in done.stdout


def test_the_owner_needs_no_password_at_the_socket(secured: Secured) -> None:
    place = f"host={secured.folder} port={secured.port} user=anybody dbname=palimpsest"
    with psycopg.connect(place, autocommit=True) as con:
        con.execute("CREATE USER late PASSWORD 'one'")
        secured.connect("late").close()
        con.execute("ALTER ROLE late NOLOGIN")
        with pytest.raises(psycopg.OperationalError, match="PAL-609"):
            secured.connect("late")
        con.execute("DROP ROLE late")
        with pytest.raises(psycopg.OperationalError, match="PAL-611"):
            secured.connect("late")


def test_a_new_certificate_is_served_without_a_restart(secured: Secured) -> None:
    def served() -> str:
        raw = socket.create_connection(("127.0.0.1", secured.port))
        raw.sendall(struct.pack("!ii", 8, 80_877_103))
        assert raw.recv(1) == b"S"
        raw.close()
        done = subprocess.run(
            ["openssl", "s_client", "-starttls", "postgres", "-connect",
             f"127.0.0.1:{secured.port}", "-showcerts"],
            input="", capture_output=True, text=True,
        )  # fmt: skip
        found = re.search(r"-----BEGIN CERTIFICATE-----.*?-----END", done.stdout, re.DOTALL)
        assert found is not None, done.stderr
        return found[0]

    before = served()
    for ending in ("key", "pem"):
        old = (secured.folder / f"server.{ending}").read_bytes()
        (secured.folder / f"kept.{ending}").write_bytes(old)
        (secured.folder / f"server.{ending}").write_bytes(
            (secured.folder / f"other.{ending}").read_bytes()
        )
    assert served() != before
    with secured.connect(channel_binding="require") as con:
        assert con.execute("SELECT 1").fetchone() == (1,)


def test_a_connection_is_bound_by_the_certificate_that_it_was_shown(tmp_path: Path) -> None:
    """Also while the files of the next one come, one after the other."""
    make_certificates(tmp_path, {"server": "localhost", "other": "localhost"})
    tls = ServerTls(TlsFiles(tmp_path / "server.pem", tmp_path / "server.key"), ())
    first = tls.context()
    before = tls.binding(first)
    assert before is not None
    (tmp_path / "server.pem").write_bytes((tmp_path / "other.pem").read_bytes())
    assert tls.context() is first
    assert tls.binding(tls.context()) == before
    (tmp_path / "server.key").write_bytes((tmp_path / "other.key").read_bytes())
    assert tls.context() is not first
    assert tls.binding(tls.context()) not in (None, before)
    assert tls.binding(first) == before


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"\x16\x03\x01", struct.pack("!ii", 8, 80_877_103) + b"more",
        struct.pack("!i", 2_000_000_000), b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!ii", 8, 196_608),
        struct.pack("!ii", 24, 196_608) + b"user\0ann" + b"\0" * 8,
    ],
)  # fmt: skip
def test_bytes_that_are_no_login_leave_the_server_running(secured: Secured, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", secured.port)) as raw:
        raw.sendall(sent)
        raw.settimeout(2)
        try:
            raw.recv(1000)
            for message in (b"p\0\0\0\4", b"Q\0\0\0\x09SELECT 1\0", b"p\x7f\xff\xff\xff"):
                raw.sendall(message)
        except OSError:
            pass
    with secured.connect("chief") as con:
        assert con.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--postgres", "0.0.0.0:0"], "no role may log in"),
        (["--tls-key", "x.pem"], "TLS needs the certificate"),
        (["--tls-cert", "nowhere.pem"], "TLS cannot be served"),
    ],
)
def test_no_port_is_opened_without_need(tmp_path: Path, words: list[str], said: str) -> None:
    command = [warm_python(), "-m", "gateway.cli", "serve", str(tmp_path / "w"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert said in done.stderr


def test_other_machines_need_tls(tmp_path: Path) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        con.execute("CREATE USER ann PASSWORD 'one'")
    command = [warm_python(), "-m", "gateway.cli", "serve", str(tmp_path / "w")]
    done = subprocess.run(
        [*command, "--postgres", "0.0.0.0:0"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert "the server has no TLS" in done.stderr


@pytest.mark.parametrize(("kind", "hashed"), [("sha256", 32), ("sha384", 48), ("sha512", 64)])
def test_the_hash_of_a_certificate_is_that_of_its_signature(
    tmp_path: Path, kind: str, hashed: int
) -> None:
    key = ("-newkey", "rsa:2048", "-nodes", "-keyout", "k")
    made = ("-outform", "DER", "-out", "c", "-days", "1", "-subj", "/CN=x", f"-{kind}")
    run_openssl(tmp_path, "req", "-x509", *key, *made)
    found = end_point((tmp_path / "c").read_bytes())
    assert found is not None
    assert len(found) == hashed


def test_a_role_sees_what_is_its_own_and_stops_nobody(secured: Secured) -> None:
    with gateway.connect(f"palimpsest:///{secured.folder}/w", autocommit=True) as owner:
        owner.execute("SELECT count(*) FROM hidden").fetchall()
        query = 'SELECT DISTINCT s."user" FROM system.{} AS s'
        with secured.connect() as ann:
            ann.execute("SELECT 1")
            for name in ("sessions", "statements"):
                assert ann.execute(query.format(name)).fetchall() == [("ann",)]
                assert len(owner.execute(query.format(name)).fetchall()) > 1
            seen = ann.execute("SELECT DISTINCT usename FROM pg_stat_activity").fetchall()
            assert seen == [("ann",)]
            (number,) = owner.execute(
                "SELECT min(id) FROM system.sessions AS s WHERE s.user IS DISTINCT FROM 'ann'"
            ).fetchall()[0]
            for procedure in ("cancel", "terminate"):
                with pytest.raises(psycopg.Error) as caught:
                    ann.execute(f"CALL system.{procedure}({number})")
                assert caught.value.sqlstate == "42501"
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    ann.execute(f"SELECT pg_{procedure}_backend({number})")


def test_the_db_api_logs_in_with_tls_and_is_the_role(secured: Secured) -> None:
    place = f"localhost:{secured.port}/?sslmode=verify-full&sslrootcert={secured.folder}/ca.pem"
    with gateway.connect(f"palimpsest://ann:{PASSWORD}@{place}", autocommit=True) as ann:
        assert ann.execute("SELECT current_user").fetchone() == ("ann",)
        assert "hidden" not in {name for _, name in ann.client_session.catalog.relations}
        with pytest.raises(gateway.ProgrammingError, match="PAL-201"):
            ann.execute("SELECT * FROM hidden")
        ann.client_session.settings = ann.client_session.settings.with_setting("retries", 3)
        with pytest.raises(gateway.ProgrammingError, match="PAL-201"):
            ann.execute("SELECT * FROM hidden")
    with pytest.raises(gateway.OperationalError, match="PAL-611"):
        gateway.connect(f"palimpsest://ann:wrong@{place}")
