"""A warehouse on a network file system: one process at a time, and the others hear why.

The file system is a real one: sshfs, over a server of its own on this machine.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from tests.sharing.programs import Program
from tests.support.urls import url_of_folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or not (shutil.which("sshfs") and Path("/usr/sbin/sshd").exists()),
        reason="needs root, sshfs and openssh-server to mount a network file system",
    ),
]
CONFIGURATION = """
Port {port}
ListenAddress 127.0.0.1
HostKey {place}/host
AuthorizedKeysFile {place}/user.pub
StrictModes no
PidFile none
Subsystem sftp internal-sftp
"""


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    keys, far, near = (tmp_path / name for name in ("keys", "far", "near"))
    for folder in (keys, far, near):
        folder.mkdir()
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)]
        subprocess.run(command, check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (keys / "conf").write_text(CONFIGURATION.format(port=port, place=keys))
    Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", str(keys / "conf")])
    try:
        _mount(port, keys, far, near)
        yield near
        subprocess.run(["fusermount", "-u", str(near)], check=True)
    finally:
        server.terminate()
        server.wait()


def _mount(port: int, keys: Path, far: Path, near: Path) -> None:
    options = f"IdentityFile={keys}/user,StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null"
    command = ["sshfs", "-p", str(port), "-o", options, f"127.0.0.1:{far}", str(near)]
    for _ in range(50):
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    pytest.skip("sshfs cannot mount here: no FUSE")


def test_a_second_program_on_a_network_folder_has_a_coded_error(mounted: Path) -> None:
    root = mounted / "wh"
    with Program(root) as owner:
        owner.ask("execute", "CREATE TABLE t (a INTEGER PRIMARY KEY)")
        owner.ask("execute", "INSERT INTO t VALUES (1), (2)")
        with pytest.raises(gateway.OperationalError, match="network file system") as refused:
            gateway.connect(url_of_folder(root))
        assert (refused.value.code, refused.value.sqlstate) == ("PAL-532", "55006")
        assert owner.end() == 0
    with gateway.connect(url_of_folder(root)) as connection:
        assert connection.execute("SELECT sum(a) FROM t").fetchone() == (3,)
