"""Hadoop's own mini cluster for tests: a name node and a data node in a Java process of theirs.

Its jar is fetched from Maven Central with the Ivy that lies among Spark's jars, and kept in the
user's cache; Spark's jars have the rest of Hadoop. Speaks WebHDFS and Hadoop's own protocol.
"""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.away import Away

_MODULE = "hadoop-client-minicluster"
_FETCH_S = 300
_START_S = 120


@dataclass(frozen=True, slots=True)
class Hdfs:
    """Where a cluster listens, and its own file system, which is not ours."""

    web: str
    native: str
    files: Any
    path_of: Any

    def names(self, folder: str) -> list[str]:
        """Every file below a folder, relative to it."""
        root = self.path_of(folder)
        if not self.files.exists(root):
            return []
        found, listing = [], self.files.listFiles(root, True)
        while listing.hasNext():
            found.append(listing.next().getPath().toUri().getPath().removeprefix(f"{folder}/"))
        return sorted(found)

    def new_folder(self) -> Away:
        """A folder that nobody used yet."""
        folder = f"/tests/{uuid.uuid4().hex[:12]}"

        def fetch(target: Path) -> Path:
            self.files.copyToLocalFile(self.path_of(folder), self.path_of(str(target)))
            return target

        return Away(f"{self.web}{folder}", lambda: self.names(folder), fetch)


@contextmanager
def hdfs(folder: Path) -> Iterator[Hdfs]:
    """A cluster with its files in ``folder``; the test is skipped, with the reason, without one."""
    classpath = _classpath()
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    port, token, process = launch_gateway(
        classpath=classpath,
        jarpath=_py4j(),
        javaopts=["-Xmx512m", f"-Djava.io.tmpdir={folder}"],
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    java = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        hadoop = java.jvm.org.apache.hadoop
        configuration = hadoop.conf.Configuration()
        configuration.set("hdfs.minidfs.basedir", str(folder / "hdfs"))
        cluster = hadoop.hdfs.MiniDFSCluster.Builder(configuration).build()
        cluster.waitActive()
        files = cluster.getFileSystem()
        root = hadoop.fs.Path("/tests")
        everything = hadoop.fs.permission.FsPermission("777")
        files.mkdirs(root)
        files.setPermission(root, everything)
        web = cluster.getHttpUri(0).removeprefix("http://")
        native = f"hdfs://localhost:{cluster.getNameNodePort()}"
        yield Hdfs(f"webhdfs://{web}", native, files, hadoop.fs.Path)
    finally:
        java.shutdown()
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()


def _classpath() -> str:
    if shutil.which("java") is None:
        pytest.skip("HDFS needs Java, which is not installed")
    pyspark = pytest.importorskip("pyspark", reason="Hadoop's jars come with pyspark")
    jars = Path(pyspark.__file__).parent / "jars"
    version = next(jars.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
    cache = Path.home() / ".cache" / "palimpsest-tests"
    jar = cache / f"{_MODULE}-{version}.jar"
    if not jar.is_file():
        _fetch(next(jars.glob("ivy-*.jar")), version, cache)
    if not jar.is_file():
        pytest.skip(f"{_MODULE} {version} cannot be had from Maven Central")
    return f"{jar}:{jars}/*"


def _fetch(ivy: Path, version: str, cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    wanted = ["-dependency", "org.apache.hadoop", _MODULE, version, "-notransitive"]
    kept = ["-cache", str(cache / "ivy"), "-retrieve", f"{cache}/[artifact]-[revision].[ext]"]
    command = ["java", "-cp", str(ivy), "org.apache.ivy.Main", *wanted, *kept]
    try:
        subprocess.run(command, capture_output=True, timeout=_FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("Maven Central does not answer")
    finally:
        shutil.rmtree(cache / "ivy", ignore_errors=True)


def _py4j() -> str:
    import pyspark

    return str(next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")))
