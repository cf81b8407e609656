"""Checks that a server's options and roles let only the right clients in."""

from __future__ import annotations

import importlib.util
import os
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from gateway.access.external import ExternalLogin
from gateway.access.login_log import LoginLog
from gateway.access.login_rate import LoginRate
from gateway.access.logins import Logins, has_logins
from gateway.servers.addresses import Address
from gateway.servers.pgwire.admission import Admission
from gateway.servers.pgwire.startup import ALPN
from gateway.servers.tls import ServerTls, TlsFiles
from journal.erasure.login_chain import write_digest, write_logins
from journal.erasure.seam import SecretJournal
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot
from journal.records.login_rows import LoginRow
from journal.transactions.protocol import OpenJournal


@dataclass(frozen=True, slots=True)
class _Records:
    """The login log of a store."""

    journal: SecretJournal

    def write(self, rows: Sequence[LoginRow]) -> None:
        write_logins(self.journal, rows)

    def digest(self) -> bool:
        return write_digest(self.journal)


def tls_files_of(
    certificate: Path | None, key: Path | None, client_ca: Path | None
) -> TlsFiles | None:
    """The files of TLS that options name; raises SETTING_VALUE for a key without certificate."""
    if certificate is None:
        if key is not None or client_ca is not None:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                "TLS needs the certificate of the server",
                advice="give --tls-cert as well",
            )
        return None
    return TlsFiles(certificate, key or certificate, client_ca)


def check_place(place: Address, *, trusts: bool, has_tls: bool) -> None:
    """Raise SETTING_VALUE for an address where other machines would come in without login or TLS.

    It asks no warehouse, so that options are checked where none is open.
    """
    if place.is_loopback:
        return
    if trusts:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{place} can be reached from other machines, and --trust-loopback admits everybody",
            advice="listen at 127.0.0.1, or leave --trust-loopback out, so that roles must log in",
        )
    if not has_tls:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{place} can be reached from other machines, and the server has no TLS",
            advice="give --tls-cert and --tls-key, or listen at 127.0.0.1",
        )


def check_login_port(place: Address, clients: str, *, trusts: bool, has_tls: bool) -> None:
    """Raise SETTING_VALUE where ``clients`` would send passwords or tokens in the clear.

    A port that trusts loopback takes no passwords; any other needs TLS, also on loopback.
    """
    check_place(place, trusts=trusts, has_tls=has_tls)
    if not trusts and not has_tls:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{clients} send passwords or tokens, and the server has no TLS",
            advice="give --tls-cert and --tls-key, or --trust-loopback",
        )


def check_logins(place: Address, admission: Admission) -> None:
    """Raise SETTING_VALUE where nobody could log in at ``place``."""
    if not admission.trusts and admission.logins is None:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"nobody could log in at {place}, because no role may log in",
            advice="CREATE USER name PASSWORD '..' first, through the Unix socket",
        )


def check_packages(option: str, packages: Sequence[str], extra: str) -> None:
    """Raise SETTING_VALUE, naming those of the packages that are not installed."""
    missing = [name for name in packages if not _is_installed(name)]
    if missing:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{option} needs {' and '.join(missing)}",
            advice=f"pip install 'palimpsest-gateway[{extra}]'",
        )


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def admission_of(
    journal: OpenJournal,
    place: Address,
    *,
    trusts: bool,
    tls_files: TlsFiles | None,
    external: Sequence[ExternalLogin] = (),
    login_rate: int = 0,
) -> Admission:
    """The rules of a server that is to listen at ``place``; ``external`` vouch for users.

    ``login_rate`` logins a minute are taken from one address, 0: any number.

    Raises SETTING_VALUE where other machines could come in without login, or without TLS.
    """
    tls = None if tls_files is None else ServerTls(tls_files, (ALPN,))
    owner = os.getuid()
    if trusts:
        check_place(place, trusts=True, has_tls=tls is not None)
        return Admission(owner, trusts=True, tls=tls)

    def catalog() -> CatalogSnapshot:
        # Others may have changed roles since this process last looked.
        begun = journal.begin(at_once=True)
        try:
            return begun.catalog
        finally:
            begun.rollback()

    if not has_logins(catalog(), elsewhere=bool(external)):
        if not place.is_loopback:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"{place} can be reached from other machines, and no role may log in",
                advice="CREATE USER name PASSWORD '..' first, through the Unix socket",
            )
        return Admission(owner, tls=tls)
    check_place(place, trusts=False, has_tls=tls is not None)
    log = LoginLog(_Records(cast("SecretJournal", journal)))
    secret, rate = secrets.token_bytes(32), LoginRate(login_rate)
    logins = Logins(catalog, secret, lambda: datetime.now(UTC), external, log, rate)
    return Admission(owner, logins=logins, tls=tls)
