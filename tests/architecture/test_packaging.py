"""The declarations fit together: pyproject, Dockerfile, scripts, and the folders they name."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gateway.cli import main
from gateway.commands.serve import command as serve
from tests.architecture.sources import PACKAGES

_RUN = "/run/palimpsest"


def project(root: Path) -> dict[str, Any]:
    """The project table of pyproject.toml."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = tomllib.loads(text)
    return loaded


def test_every_fixed_dependency_is_declared(root: Path) -> None:
    table = project(root)["project"]
    groups = [table["dependencies"], *table["optional-dependencies"].values()]
    names = {re.split(r"[^\w-]", line)[0].lower() for group in groups for line in group}
    fixed = {"sqlglot", "pyspark", "sqlalchemy", "pyhive", "pytest", "testcontainers", "duckdb"}
    assert fixed <= names


def test_the_four_packages_are_built_and_linted(root: Path) -> None:
    tool = project(root)["tool"]
    assert tuple(tool["hatch"]["build"]["targets"]["wheel"]["packages"]) == PACKAGES
    assert tuple(tool["importlinter"]["root_packages"]) == PACKAGES
    assert all((root / package / "__init__.py").is_file() for package in PACKAGES)


def test_pinned_environment_holds_every_dependency_and_no_address(root: Path) -> None:
    table = project(root)["project"]
    text = (root / "requirements-dev.txt").read_text(encoding="utf-8")
    pinned = {name.lower() for name in re.findall(r"^([\w-]+)==", text, re.MULTILINE)}
    extras = table["optional-dependencies"]
    wanted = [table["dependencies"], extras["demo"], extras["sqlalchemy"], extras["dev"][1:]]
    names = {re.split(r"[^\w-]", line)[0].lower() for group in wanted for line in group}
    assert {name.replace("_", "-") for name in names} <= {n.replace("_", "-") for n in pinned}
    assert "://" not in text


def requirements(root: Path) -> list[Requirement]:
    """Every requirement of the project and its extras, but for the project itself."""
    table = project(root)["project"]
    groups = [table["dependencies"], *table["optional-dependencies"].values()]
    found = [Requirement(line) for group in groups for line in group]
    return [wanted for wanted in found if wanted.name != table["name"]]


def test_pinned_environment_satisfies_every_bound(root: Path) -> None:
    text = (root / "requirements-dev.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)
    pinned = {canonicalize_name(name): version for name, version in pins}
    wrong = [
        f"{wanted}: {pinned[name]}"
        for wanted in requirements(root)
        if (name := canonicalize_name(wanted.name)) in pinned
        and not wanted.specifier.contains(pinned[name])
    ]
    assert wrong == []


def test_boto3_is_bound_to_what_aiobotocore_takes(root: Path) -> None:
    """Without both bounds pip looks for a pair that fits for longer than ten minutes."""
    bounds = {wanted.name: wanted.specifier for wanted in requirements(root)}
    assert str(bounds.get("aiobotocore")) == f"=={metadata.version('aiobotocore')}"
    takes = [Requirement(line) for line in metadata.requires("aiobotocore") or []]
    (botocore,) = [wanted.specifier for wanted in takes if wanted.name == "botocore"]
    assert bounds["boto3"] == botocore


def test_the_package_and_the_gateway_have_one_version(root: Path) -> None:
    declared = project(root)["project"]["version"]
    text = (root / "gateway" / "version.py").read_text(encoding="utf-8")
    assert f'VERSION = "{declared}"' in text


def test_dockerfile_copies_what_the_build_needs_and_runs_without_root(root: Path) -> None:
    lines = (root / "Dockerfile").read_text(encoding="utf-8").splitlines()
    instructions = [line.split(None, 1) for line in lines if re.match(r"[A-Z]+ ", line)]
    copied = {
        source
        for name, rest in instructions
        if name == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    allowed = {
        line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }
    assert copied == {*PACKAGES, "pyproject.toml", "README.md", "LICENSE"}
    assert copied == allowed
    assert all((root / source).exists() for source in copied)
    assert [rest for name, rest in instructions if name == "USER"] == ["palimpsest"]
    assert [rest for name, rest in instructions if name == "ENTRYPOINT"] == ['["palimpsest"]']


def serve_options(words: list[str]) -> dict[str, Any]:
    """What ``palimpsest serve`` makes of words; it refuses those that it does not know."""
    assert words[0] == "serve"
    # Beneath the group, as a command keeps the names that its help was first asked by.
    parent = main.make_context("palimpsest", list(words))
    return dict(serve.make_context("serve", words[1:], parent=parent).params)


def test_the_image_serves_and_probes_itself(root: Path) -> None:
    text = (root / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    (words,) = [json.loads(line[4:]) for line in text.splitlines() if line.startswith("CMD ")]
    given = serve_options(words)
    assert given["url"] == "palimpsest:////warehouse"
    (probe,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", text, re.MULTILINE)
    port = given["http_address"].rpartition(":")[2]
    assert f"http://127.0.0.1:{port}/readyz" in json.loads(probe)[2]
    compile(json.loads(probe)[2], "probe", "exec")


def test_the_unit_of_systemd_and_the_compose_file_fit_the_command(root: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(root / "examples" / "server" / "palimpsest.service")
    service = unit["Service"]
    # The folder of the socket is made when the unit starts.
    words = [w for w in service["ExecStart"].split()[1:] if w not in {"--socket-dir", _RUN}]
    given = serve_options(words)
    assert given["url"] == f"/var/lib/{service['StateDirectory']}"
    assert f"/run/{service['RuntimeDirectory']}" == _RUN
    assert given["drain"] < float(service["TimeoutStopSec"])
    assert service["Restart"] == "on-failure"
    yaml = pytest.importorskip("yaml")
    compose = yaml.safe_load((root / "examples" / "server" / "compose.yaml").read_text())
    gateway = compose["services"]["gateway"]
    assert [s["restart"] for s in compose["services"].values()] == ["unless-stopped"] * 2
    assert f"sockets:{_RUN}" in gateway["volumes"]
    words = [w for w in gateway["command"] if not w.startswith("--socket-dir")]
    assert serve_options(words)["url"].startswith("palimpsest+postgresql://")
    grace_s = float(gateway["stop_grace_period"].removesuffix("s"))
    assert serve_options(words)["drain"] < grace_s


def test_shell_scripts_are_executable(root: Path) -> None:
    assert all((root / ".ci" / name).stat().st_mode & 0o111 for name in ("run", "bootstrap"))
