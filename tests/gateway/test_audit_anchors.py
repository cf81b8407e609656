"""``palimpsest audit anchor``: what somebody with all of the store did to its log is noticed."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main

_HOLD = "PLACE HOLD ON people WHERE id = 1 REASON '{}'"


def _run(root: Path, *words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"PALIMPSEST_WAREHOUSE": str(root)})


def _done(root: Path, *words: str) -> str:
    run = _run(root, *words)
    assert run.exit_code == 0, run.output
    return run.output


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A warehouse whose log has an entry."""
    root = tmp_path / "w"
    _done(root, "init", str(root))
    _done(root, "query", "CREATE TABLE people (id INTEGER PRIMARY KEY)")
    _done(root, "query", _HOLD.format("first"))
    return root


@pytest.mark.long
def test_a_log_that_goes_on_holds_its_anchors(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "anchors.jsonl"
    assert "Anchored entry 1" in _done(root, "audit", "anchor", str(file))
    _done(root, "query", _HOLD.format("second"))
    told = json.loads(_done(root, "audit", "anchor", str(file), "--json"))
    assert (told["entry"], told["commit"], len(file.read_text().splitlines())) == (2, None, 2)
    checked = json.loads(_done(root, "audit", "verify", "--anchor", str(file), "--json"))
    assert (checked["clean"], checked["entries"], checked["anchors"]) == (True, 2, 2)


@pytest.mark.long
def test_an_older_copy_in_the_place_of_the_store_is_noticed(root: Path, tmp_path: Path) -> None:
    file, copy = tmp_path / "anchors.jsonl", tmp_path / "copy"
    shutil.copytree(root, copy)
    _done(root, "query", _HOLD.format("second"))
    _done(root, "audit", "anchor", str(file))
    # The copy looks whole by itself, however it goes on.
    assert "Whole: 1 entries" in _done(copy, "audit", "verify")
    cut = _run(copy, "audit", "verify", "--anchor", str(file))
    assert cut.exit_code == 1
    assert "the log lacks entry 2, which was anchored at" in cut.output
    _done(copy, "query", _HOLD.format("another"))
    anew = _run(copy, "audit", "verify", "--anchor", str(file))
    assert anew.exit_code == 1
    assert "is another one in the log: the log was written anew" in anew.output
    refused = _run(copy, "audit", "anchor", str(file))
    assert refused.exit_code == 1
    assert len(file.read_text().splitlines()) == 1, "what is not whole is not anchored"


@pytest.mark.long
def test_files_that_vouch_for_nothing_are_refused(root: Path, tmp_path: Path) -> None:
    file, empty = tmp_path / "anchors.jsonl", tmp_path / "empty.jsonl"
    _done(root, "audit", "anchor", str(file))
    other = tmp_path / "other"
    _done(other, "init", str(other))
    of_another = _run(other, "audit", "verify", "--anchor", str(file))
    assert "none of the 1 anchors is of this store" in of_another.output
    empty.write_text("\n")
    nothing = _run(root, "audit", "verify", "--anchor", str(empty))
    assert (nothing.exit_code, "there is no anchor" in nothing.output) == (1, True)
    with file.open("a") as lines:
        lines.write('{"entry": 1}\n')
    edited = _run(root, "audit", "verify", "--anchor", str(file))
    assert (edited.exit_code, "line 2 of" in edited.output) == (1, True)
    missing = _run(root, "audit", "anchor", str(tmp_path / "no" / "anchors.jsonl"))
    assert "cannot be written: No such file or directory" in missing.output


@pytest.mark.long
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_an_anchor_is_committed(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    file = folder / "anchors.jsonl"
    outside = _run(root, "audit", "anchor", str(file), "--git")
    assert outside.exit_code == 1
    assert "cannot be committed" in outside.output
    for words in (["init", "-q"], ["config", "user.name", "a"], ["config", "user.email", "a@b.c"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    (folder / "unrelated").write_text("stays as it is")
    assert "Committed as" in _done(root, "audit", "anchor", str(file), "--git")
    shown = subprocess.run(
        ["git", "-C", str(folder), "log", "--format=%s", "--name-only"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.split("\n\n") == ["audit log: anchor entry 1", "anchors.jsonl\n"]


class TimeAuthority:
    """A time authority: OpenSSL behind HTTP, with a root certificate of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root.pem"
        (folder / "tsa.cnf").write_text(
            "[tsa]\ndefault_tsa = t\n[t]\nserial = serial\nsigner_cert = tsa.pem\n"
            "signer_key = tsa.key\nsigner_digest = sha256\n"
            "default_policy = 1.2.3.4\ndigests = sha256, sha512\ness_cert_id_alg = sha256\n"
            "[ext]\nextendedKeyUsage = critical,timeStamping\n"
        )
        (folder / "serial").write_text("01\n")
        self.openssl("req -x509 -newkey rsa:2048 -nodes -keyout root.key -out root.pem -subj /CN=r")
        self.openssl("req -newkey rsa:2048 -nodes -keyout tsa.key -out tsa.csr -subj /CN=tsa")
        signing = "x509 -req -in tsa.csr -CA root.pem -CAkey root.key -CAcreateserial -out tsa.pem"
        self.openssl(f"{signing} -extfile tsa.cnf -extensions ext")
        authority = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                (folder / "query.tsq").write_bytes(body)
                authority.openssl("ts -reply -config tsa.cnf -queryfile query.tsq -out reply.tsr")
                self.send_response(200)
                self.end_headers()
                self.wfile.write((folder / "reply.tsr").read_bytes())

            def log_message(self, *_args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/tsr"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def openssl(self, words: str) -> None:
        subprocess.run(
            ["openssl", *words.split()], cwd=self.folder, check=True, capture_output=True
        )


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[TimeAuthority]:
    """A time authority that answers."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, which signs as a time authority")
    folder = tmp_path / "tsa"
    folder.mkdir()
    authority = TimeAuthority(folder)
    yield authority
    authority.server.shutdown()
    authority.server.server_close()


@pytest.mark.long
def test_a_time_authority_stamps_anchors(
    root: Path, tmp_path: Path, authority: TimeAuthority
) -> None:
    file = tmp_path / "anchors.jsonl"
    told = _done(root, "audit", "anchor", str(file), "--timestamp", authority.url)
    assert f"{authority.url} stamped it at 20" in told
    checks = ("audit", "verify", "--anchor", str(file))
    assert "1 timestamps were not checked" in _done(root, *checks)
    _done(root, *checks, "--timestamp-roots", str(authority.root))
    anchor = json.loads(file.read_text())
    # Somebody else's time on an anchor of ours.
    file.write_text(json.dumps({**anchor, "at": "2020-01-01T00:00:00+00:00"}))
    dated = _run(root, *checks, "--timestamp-roots", str(authority.root))
    assert (dated.exit_code, "does not hold" in dated.output) == (1, True)
    file.write_text(json.dumps(anchor))
    other = tmp_path / "other"
    other.mkdir()
    stranger = TimeAuthority(other)
    stranger.server.server_close()
    distrusted = _run(root, *checks, "--timestamp-roots", str(stranger.root))
    assert (distrusted.exit_code, "does not hold" in distrusted.output) == (1, True)
    no_answer = _run(root, "audit", "anchor", str(file), "--timestamp", stranger.url)
    assert "so nothing was anchored" in no_answer.output
    assert len(file.read_text().splitlines()) == 1
    assert _run(root, "audit", "verify", "--timestamp-roots", str(file)).exit_code == 2
