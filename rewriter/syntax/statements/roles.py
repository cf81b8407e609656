"""Roles and what they may do, recognised by their tokens.

CREATE ROLE | USER | GROUP [IF NOT EXISTS] name [[WITH] option ..]
ALTER ROLE | USER name [WITH] option .. | RENAME TO name
DROP ROLE | USER | GROUP [IF EXISTS] name, ..
options: [NO]LOGIN, [NO]SUPERUSER, [NO]INHERIT, [NO]CREATEROLE, [NO]BYPASSRLS, [ENCRYPTED] PASSWORD
    'text' | NULL, VALID UNTIL 'moment', CONNECTION LIMIT n, IN ROLE name, .., ROLE name, ..,
    ADMIN name, ..
ALTER TABLE | [MATERIALIZED] VIEW | SEQUENCE | SCHEMA | TYPE | DOMAIN [IF EXISTS] name OWNER TO role
REASSIGN OWNED BY role, .. TO role;  DROP OWNED BY role, .. [CASCADE | RESTRICT]
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot.tokenizer_core import Token, TokenType

from rewriter.statements.access import (
    AlterRole,
    ChangeOwner,
    CreateRole,
    DropOwned,
    DropRoles,
    OfAccess,
    ReassignOwned,
)
from rewriter.syntax.token_reader import Parse, TokenReader

_ROLE = frozenset({"ROLE", "USER", "GROUP"})
_ADVICE = "see docs/roles.md for the form of the statement"
_FLAGS = {
    "LOGIN": "can_login",
    "SUPERUSER": "is_superuser",
    "INHERIT": "inherits",
    "CREATEROLE": "creates_roles",
    "BYPASSRLS": "bypasses_policies",
}
_WITHOUT_MEANING = frozenset({"CREATEDB", "REPLICATION"})
_OWNED = frozenset({"TABLE", "VIEW", "SEQUENCE", "SCHEMA", "TYPE", "DOMAIN"})


def recognise_role(tokens: list[Token], parse: Parse) -> OfAccess | None:
    """The statement if it is about roles or changes an owner, else None."""
    verb = tokens[0].text.upper()
    kind = tokens[1].text.upper() if len(tokens) > 1 else ""
    reader = TokenReader(tokens, parse, 2, _ADVICE)
    if kind in _ROLE:
        match verb:
            case "CREATE":
                exists = reader.takes("IF", "NOT", "EXISTS")
                made = CreateRole(role_name(reader), exists=exists)
                if kind == "USER":
                    made = replace(made, options=(("can_login", True),))
                return _with_options(made, reader)
            case "ALTER":
                name = role_name(reader)
                if reader.takes("RENAME", "TO"):
                    found = AlterRole(name, new_name=role_name(reader))
                    reader.ends("nothing else stands behind the name")
                    return found
                return _altered(AlterRole(name), reader)
            case _:
                exists = reader.takes("IF", "EXISTS")
                names = role_names(reader)
                reader.ends("DROP ROLE takes names")
                return DropRoles(names, exists)
    if (verb, kind) == ("DROP", "OWNED"):
        return _drop_owned(reader)
    if verb == "ALTER" and kind == "MATERIALIZED" and reader.takes("VIEW"):
        return _owner("MATERIALIZED VIEW", reader)
    if verb == "ALTER" and kind in _OWNED:
        return _owner(kind, reader)
    return None


def recognise_reassign(tokens: list[Token], parse: Parse) -> ReassignOwned:
    """REASSIGN OWNED BY role, .. TO role; raises SYNTAX for anything else."""
    reader = TokenReader(tokens, parse, 1, _ADVICE)
    if not reader.takes("OWNED", "BY"):
        raise reader.error("OWNED BY was expected")
    roles = role_names(reader)
    if not reader.takes("TO"):
        raise reader.error("TO and a role were expected")
    found = ReassignOwned(roles, role_name(reader))
    reader.ends("nothing else stands behind the role")
    return found


def _drop_owned(reader: TokenReader) -> DropOwned:
    if not reader.takes("BY"):
        raise reader.error("BY and roles were expected")
    roles = role_names(reader)
    cascade = reader.takes("CASCADE")
    _ = cascade or reader.takes("RESTRICT")
    reader.ends("nothing else stands behind the roles")
    return DropOwned(roles, cascade)


def _owner(kind: str, reader: TokenReader) -> ChangeOwner | None:
    words = [t.text.upper() for t in reader.tokens]
    if words[-3:-1] != ["OWNER", "TO"]:
        return None
    exists = reader.takes("IF", "EXISTS")
    name = reader.name()
    if not reader.takes("OWNER", "TO"):
        return None  # A column of this name is given another one.
    return ChangeOwner(kind, name, role_name(reader), exists)


def role_name(reader: TokenReader) -> str:
    """A role's name, in lower case unless it is quoted."""
    text = reader.word()
    token = reader.tokens[reader.place - 1]
    if token.token_type in {TokenType.STRING, TokenType.NUMBER} or not text[:1].strip("(),;."):
        reader.place -= 1
        raise reader.error("the name of a role was expected")
    return text if token.token_type is TokenType.IDENTIFIER else text.lower()


def role_names(reader: TokenReader) -> tuple[str, ...]:
    """Names of roles between commas."""
    names = [role_name(reader)]
    while reader.takes(","):
        names.append(role_name(reader))
    return tuple(names)


def _altered(found: AlterRole, reader: TokenReader) -> AlterRole:
    made = _with_options(CreateRole(found.name), reader)
    if made.member_of or made.members or made.admins:
        raise reader.error("GRANT and REVOKE change memberships; ALTER ROLE does not")
    return AlterRole(
        *(found.name, made.options, made.password, made.sets_password), ignored=made.ignored
    )


def _with_options(made: CreateRole, reader: TokenReader) -> CreateRole:
    reader.takes("WITH")
    options = dict(made.options)
    while reader.place < len(reader.tokens):
        word = reader.word().upper()
        plain = word.removeprefix("NO")
        if word in _FLAGS or plain in _FLAGS:
            options[_FLAGS[word if word in _FLAGS else plain]] = word in _FLAGS
        elif plain in _WITHOUT_MEANING:
            if word == plain:
                made = replace(made, ignored=(*made.ignored, word))
        elif word == "PASSWORD" or (word == "ENCRYPTED" and reader.takes("PASSWORD")):
            password = None if reader.takes("NULL") else reader.text()
            made = replace(made, password=password, sets_password=True)
        elif word == "VALID" and reader.takes("UNTIL"):
            options["valid_until"] = reader.text()
        elif word == "CONNECTION" and reader.takes("LIMIT"):
            options["connection_limit"] = reader.number()
        elif word == "IN" and (reader.takes("ROLE") or reader.takes("GROUP")):
            made = replace(made, member_of=role_names(reader))
        elif word in {"ROLE", "USER"}:
            made = replace(made, members=role_names(reader))
        elif word == "ADMIN":
            made = replace(made, admins=role_names(reader))
        else:
            reader.place -= 1
            raise reader.error("an option of a role was expected")
    return replace(made, options=tuple(options.items()))
