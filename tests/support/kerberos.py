"""A key distribution centre of MIT Kerberos for tests: its realm, principals and tickets.

Everything lies in a folder: database, key tables, credential caches, krb5.conf. It listens on a
port of 127.0.0.1 that nobody else uses, and is stopped by its own process id.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.postgres import free_port

REALM = "PALIMPSEST.TEST"
_TOOLS = ("krb5kdc", "kadmin.local", "kdb5_util", "kinit")
_START_S = 30.0


def why_none() -> str | None:
    """Why there can be no centre here; None where there can."""
    missing = [name for name in _TOOLS if _tool(name) is None]
    if missing:
        return f"there is no {', '.join(missing)}: apt install krb5-kdc krb5-admin-server krb5-user"
    return None


def _tool(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class Centre:
    """A running one; ``environment`` is what makes a process use it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._port = folder, free_port()
        self.conf = folder / "krb5.conf"
        self.conf.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n"
            " dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{self._port}\n }}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{self._port}\n"
            f" kdc_tcp_listen = 127.0.0.1:{self._port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n"
            f"  key_stash_file = {folder}/stash\n  acl_file = {folder}/kadm5.acl\n }}\n"
            f"[logging]\n kdc = FILE:{folder}/kdc.log\n"
        )
        self.environment = {
            "KRB5_CONFIG": str(self.conf),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        }
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "a-master-key")
        command = [str(_tool("krb5kdc")), "-n", "-r", REALM]
        with (folder / "kdc.out").open("wb") as log:
            self._process = subprocess.Popen(
                command, env=self._environment(), stdout=log, stderr=log
            )

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}

    def _run(self, tool: str, *arguments: str) -> None:
        command = [str(_tool(tool)), *arguments]
        subprocess.run(command, env=self._environment(), check=True, capture_output=True)

    def principal(self, name: str) -> Path:
        """Make a principal with a random key; the table of its keys."""
        keys = self.folder / f"{name.replace('/', '_')}.keytab"
        self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", name)
        self._run("kadmin.local", "-r", REALM, "ktadd", "-k", str(keys), name)
        return keys

    def ticket(self, name: str, keys: Path) -> Path:
        """Log a principal in; the cache that holds its ticket."""
        cache = self.folder / f"{name}.cache"
        deadline = time.monotonic() + _START_S
        while True:
            try:
                self._run("kinit", "-k", "-t", str(keys), "-c", str(cache), name)
            except subprocess.CalledProcessError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
                continue
            return cache

    def stop(self) -> None:
        """Stop it."""
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def centre(folder: Path) -> Iterator[Centre]:
    """A centre for a while."""
    found = Centre(folder)
    try:
        yield found
    finally:
        found.stop()
