r"""``\password``: a new password for a role, typed twice and unseen; only its verifier is sent."""

from __future__ import annotations

import getpass
import os

from sqlglot import exp

from gateway import errors
from gateway.access.scram import SALT_BYTES, verifier_text
from gateway.shell.command_arguments import WrongCommand, split_words
from gateway.shell.command_context import CommandContext
from rewriter.dialect_semantics import DIALECTS


def set_password(shell: CommandContext, text: str) -> None:
    r"""``\password [ROLE]``: change the password of a role, or of whoever is logged in."""
    words = split_words(text)
    session = shell.connection.client_session
    role = words[0] if words else session.user
    if len(words) > 1 or not role:
        raise WrongCommand("\\password takes one role, as in \\password ada")
    try:
        first = getpass.getpass(f'Enter new password for role "{role}": ')
        again = getpass.getpass("Enter it again: ")
    except EOFError:
        raise WrongCommand("\\password was not answered: the input has ended") from None
    if first != again:
        raise WrongCommand("the two passwords differ; nothing was changed")
    with errors.mapping():
        verifier = verifier_text(first, os.urandom(SALT_BYTES))
    dialect = DIALECTS[session.dialect]
    name = exp.to_identifier(role, quoted=True).sql(dialect=dialect)
    value = exp.Literal.string(verifier).sql(dialect=dialect)
    shell.connection.execute(f"ALTER ROLE {name} PASSWORD {value}")
    shell.write_message(f"The password of {role} is changed.")
