"""GRANT and REVOKE, recognised by their tokens.

GRANT privilege [(column, ..)], .. | ALL [PRIVILEGES] ON [TABLE] name, .. | SEQUENCE name, ..
    | SCHEMA name, .. | ALL TABLES IN SCHEMA name, .. | ALL SEQUENCES IN SCHEMA name, ..
    | ALL FUNCTIONS | ROUTINES IN SCHEMA name, .. (of GRANT alone)
    | DATABASE name | TAG name, .. | SYSTEM TO role, .. [WITH GRANT OPTION]
REVOKE [GRANT OPTION FOR] .. FROM role, .. [CASCADE | RESTRICT]
ALTER DEFAULT PRIVILEGES [FOR ROLE | USER role, ..] [IN SCHEMA name, ..]
    GRANT privilege, .. | ALL ON TABLES | SEQUENCES | SCHEMAS TO role, .. [WITH GRANT OPTION]
    | GRANT .. ON FUNCTIONS | ROUTINES | TYPES TO role, ..
    | REVOKE [GRANT OPTION FOR] .. FROM role, .. [CASCADE | RESTRICT]
GRANT role, .. TO role, .. [WITH ADMIN OPTION];  REVOKE [ADMIN OPTION FOR] role, .. FROM role, ..
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from rewriter.statements.access import (
    AlterDefaultPrivileges,
    GrantPrivileges,
    GrantRoles,
    OfAccess,
)
from rewriter.syntax.statements.roles import role_name, role_names
from rewriter.syntax.token_reader import Parse, TokenReader

_ADVICE = "see docs/roles.md for the form of the statement"
_KINDS_MADE = {"TABLES": "TABLE", "SEQUENCES": "SEQUENCE", "SCHEMAS": "SCHEMA"}
FREE_TO_USE = frozenset({"FUNCTIONS", "ROUTINES", "TYPES"})
"""What everybody may use: that it is granted changes nothing, and it cannot be revoked."""


def recognise_grant(tokens: list[Token], parse: Parse) -> OfAccess:
    """GRANT or REVOKE; raises SYNTAX for what is neither form."""
    reader = TokenReader(tokens, parse, 1, _ADVICE)
    revokes = tokens[0].text.upper() == "REVOKE"
    if not any(t.text.upper() == "ON" and t.token_type is not TokenType.STRING for t in tokens):
        return _roles(reader, revokes)
    only_option = revokes and reader.takes("GRANT", "OPTION", "FOR")
    privileges = _privileges(reader)
    if not reader.takes("ON"):
        raise reader.error("ON and what the privileges are for was expected")
    on = _objects(reader, is_grant=not revokes)
    return _granted(reader, privileges, on, revokes, only_option)


def recognise_default_privileges(
    tokens: list[Token], parse: Parse
) -> AlterDefaultPrivileges | None:
    """ALTER DEFAULT PRIVILEGES, None for another ALTER; raises SYNTAX for what is no form of it."""
    reader = TokenReader(tokens, parse, 1, _ADVICE)
    if not reader.takes("DEFAULT", "PRIVILEGES"):
        return None
    owners: tuple[str, ...] = ()
    schemas: tuple[exp.Table, ...] = ()
    if reader.takes("FOR", "ROLE") or reader.takes("FOR", "USER"):
        owners = role_names(reader)
    if reader.takes("IN", "SCHEMA"):
        schemas = _names(reader)
    revokes = not reader.takes("GRANT")
    if revokes and not reader.takes("REVOKE"):
        raise reader.error("GRANT or REVOKE was expected")
    only_option = revokes and reader.takes("GRANT", "OPTION", "FOR")
    privileges = _privileges(reader)
    if not reader.takes("ON"):
        raise reader.error("ON and a kind of objects was expected")
    kind = reader.word().upper()
    if kind not in _KINDS_MADE and (revokes or kind not in FREE_TO_USE):
        reader.place -= 1
        raise reader.error(f"{', '.join(_KINDS_MADE)} was expected: others have no privileges,")
    on = _KINDS_MADE.get(kind, kind), schemas
    granted = _granted(reader, privileges, on, revokes, only_option)
    return AlterDefaultPrivileges(granted, owners)


def _granted(
    reader: TokenReader,
    privileges: tuple[tuple[str, tuple[str, ...]], ...],
    on: tuple[str, tuple[exp.Table, ...]],
    revokes: bool,
    only_option: bool,
) -> GrantPrivileges:
    roles = _grantees(reader, revokes)
    with_option = not revokes and reader.takes("WITH", "GRANT", "OPTION")
    cascade = revokes and reader.takes("CASCADE")
    _ = cascade or reader.takes("RESTRICT")
    reader.ends("nothing else stands behind the roles")
    return GrantPrivileges(privileges, *on, roles, with_option, revokes, only_option, cascade)


def _roles(reader: TokenReader, revokes: bool) -> GrantRoles:
    only_option = revokes and reader.takes("ADMIN", "OPTION", "FOR")
    roles = role_names(reader)
    members = _grantees(reader, revokes)
    admin = not revokes and reader.takes("WITH", "ADMIN", "OPTION")
    _ = revokes and (reader.takes("CASCADE") or reader.takes("RESTRICT"))
    reader.ends("nothing else stands behind the roles")
    return GrantRoles(roles, members, admin, revokes, only_option)


def _grantees(reader: TokenReader, revokes: bool) -> tuple[str, ...]:
    word = "FROM" if revokes else "TO"
    if not reader.takes(word):
        raise reader.error(f"{word} and roles were expected")
    names = []
    while True:
        reader.takes("GROUP")
        names.append(role_name(reader))
        if not reader.takes(","):
            return tuple(names)


def _privileges(reader: TokenReader) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each with its columns; none for ALL."""
    if reader.takes("ALL"):
        reader.takes("PRIVILEGES")
        if reader.takes("("):
            return (("ALL", _columns(reader)),)
        return ()
    found = []
    while True:
        word = reader.word().upper()
        found.append((word, _columns(reader) if reader.takes("(") else ()))
        if not reader.takes(","):
            return tuple(found)


def _columns(reader: TokenReader) -> tuple[str, ...]:
    names = [reader.word()]
    while reader.takes(","):
        names.append(reader.word())
    if not reader.takes(")"):
        raise reader.error("a closing parenthesis was expected")
    return tuple(names)


def _objects(reader: TokenReader, *, is_grant: bool) -> tuple[str, tuple[exp.Table, ...]]:
    if reader.takes("SYSTEM"):
        return "SYSTEM", ()
    if reader.takes("ALL"):
        word = reader.word().upper()
        is_kept = word in {"TABLES", "SEQUENCES"}
        if (is_kept or (is_grant and word in FREE_TO_USE)) and reader.takes("IN", "SCHEMA"):
            return f"ALL {word}" if is_kept else word, _names(reader)
        raise reader.error("ALL TABLES IN SCHEMA or ALL SEQUENCES IN SCHEMA was expected")
    for kind in ("TABLE", "VIEW", "SEQUENCE", "SCHEMA", "DATABASE", "TAG"):
        if reader.takes(kind):
            return ("TABLE" if kind == "VIEW" else kind), _names(reader)
    return "TABLE", _names(reader)


def _names(reader: TokenReader) -> tuple[exp.Table, ...]:
    names = [reader.name()]
    while reader.takes(","):
        names.append(reader.name())
    return tuple(names)
