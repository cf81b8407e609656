"""Replaces the password in a statement by its verifier before anything else sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gateway.access.scram import SALT_BYTES, verifier_text
from rewriter.statements.access import AlterRole, CreateRole
from rewriter.syntax.parsing import Parsed


def has_password(parsed: Parsed) -> bool:
    """True for a statement whose text must not be kept."""
    return isinstance(parsed.statement, CreateRole | AlterRole) and parsed.statement.sets_password


def without_password(parsed: Parsed, random_bytes: Callable[[int], bytes]) -> Parsed:
    """The statement with a verifier instead of the password, and a text without either."""
    statement = parsed.statement
    assert isinstance(statement, CreateRole | AlterRole)
    verifier = None
    if statement.password is not None:
        verifier = verifier_text(statement.password, random_bytes(SALT_BYTES))
    verb = "CREATE" if isinstance(statement, CreateRole) else "ALTER"
    text = f'{verb} ROLE "{statement.name}" PASSWORD ..'
    return replace(parsed, statement=replace(statement, password=verifier), text=text)
