"""Options of ``palimpsest serve`` about logins that others vouch for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from gateway.access.external import ExternalOptions

Command = TypeVar("Command", bound=Callable[..., Any])
_FILE = click.Path(dir_okay=False, path_type=Path)
_OPTIONS: tuple[tuple[str, str, Any, Any, str, str], ...] = (
    ("jwt-keys", "keys", str, None, "FILE|URL",
     "Public keys of the issuer of tokens: JWKS or PEM, or an https URL of JWKS."),
    ("jwt-issuer", "issuer", str, None, "TEXT", "The issuer of tokens."),
    ("jwt-audience", "audience", str, None, "TEXT", "The audience that tokens must name."),
    ("jwt-claim", "claim", str, "sub", "NAME", "The claim of a token that has the user's name."),
    ("ldap-url", "ldap", str, None, "URL",
     "An LDAP server that users bind to, by ldaps:// or with StartTLS."),
    ("ldap-dn", "dn", str, None, "DN", "The name they bind under, with {user} in it."),
    ("ldap-ca", "ldap_ca", _FILE, None, "FILE", "Who signs the LDAP server's certificate."),
)  # fmt: skip


def login_options(command: Command) -> Command:
    """Give a command the options of ``ExternalOptions``, by the names of its fields."""
    for option, name, kind, default, metavar, text in reversed(_OPTIONS):
        command = click.option(
            f"--{option}", name, type=kind, default=default, metavar=metavar, help=text
        )(command)
    return command


def external_options(given: Mapping[str, Any]) -> ExternalOptions:
    """Those among the values of options."""
    return ExternalOptions(**{name: given[name] for _, name, *_ in _OPTIONS})
