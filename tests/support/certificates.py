"""Certificates for tests of TLS, by the openssl program."""

from __future__ import annotations

import subprocess
from pathlib import Path


def run_openssl(folder: Path, *arguments: str) -> None:
    """Run the program in a folder; raises CalledProcessError where it fails."""
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificates(folder: Path, names: dict[str, str]) -> None:
    """A certificate authority ``ca`` and certificates of these names, by their file names."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run_openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
             "-subj", "/CN=test authority")  # fmt: skip
    for file, name in names.items():
        run_openssl(folder, "req", *key, "-keyout", f"{file}.key", "-out", f"{file}.csr", "-subj",
                 f"/CN={name}")  # fmt: skip
        (folder / "names.txt").write_text(f"subjectAltName=DNS:{name}\n")
        signer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
        run_openssl(folder, "x509", "-req", "-in", f"{file}.csr", *signer, "-out", f"{file}.pem",
                 "-extfile", "names.txt")  # fmt: skip
        (folder / f"{file}.key").chmod(0o600)
