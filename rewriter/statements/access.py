"""Statements about roles and what they may do, as recognised from their tokens. Values."""

from __future__ import annotations

from dataclasses import field

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass

RoleOptions = tuple[tuple[str, bool | int | str | None], ...]
"""Attributes of a role by their names there, with their values."""


@dataclass(frozen=True, slots=True)
class CreateRole:
    """CREATE ROLE, which sets a password or none; ``members`` and ``admins`` become members."""

    name: str
    options: RoleOptions = ()
    password: str | None = field(default=None, repr=False)
    sets_password: bool = False
    member_of: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    exists: bool = False
    ignored: tuple[str, ...] = ()
    """Options that allow nothing here."""


@dataclass(frozen=True, slots=True)
class AlterRole:
    """ALTER ROLE: attributes, a password, or another name."""

    name: str
    options: RoleOptions = ()
    password: str | None = field(default=None, repr=False)
    sets_password: bool = False
    new_name: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DropRoles:
    """DROP ROLE [IF EXISTS] name, .."""

    names: tuple[str, ...]
    exists: bool = False


@dataclass(frozen=True, slots=True)
class GrantRoles:
    """GRANT or REVOKE of memberships; ``only_option``: the members stay, as ordinary ones."""

    roles: tuple[str, ...]
    members: tuple[str, ...]
    admin: bool = False
    revokes: bool = False
    only_option: bool = False


@dataclass(frozen=True, slots=True)
class GrantPrivileges:
    """GRANT or REVOKE on objects of a kind; no ``privileges`` mean ALL."""

    privileges: tuple[tuple[str, tuple[str, ...]], ...]
    kind: str
    objects: tuple[exp.Table, ...]
    roles: tuple[str, ...]
    with_option: bool = False
    revokes: bool = False
    only_option: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class ChangeOwner:
    """ALTER kind [IF EXISTS] name OWNER TO role."""

    kind: str
    name: exp.Table
    role: str
    exists: bool = False


@dataclass(frozen=True, slots=True)
class ReassignOwned:
    """REASSIGN OWNED BY role, .. TO role."""

    roles: tuple[str, ...]
    to: str


@dataclass(frozen=True, slots=True)
class DropOwned:
    """DROP OWNED BY role, .. [CASCADE | RESTRICT]."""

    roles: tuple[str, ...]
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class AlterDefaultPrivileges:
    """ALTER DEFAULT PRIVILEGES [FOR ROLE role, ..] [IN SCHEMA schema, ..] grant.

    The schemas are the objects of ``grant``, whose kind is that of what will be made. Without
    ``owners`` it is about what the client itself makes.
    """

    grant: GrantPrivileges
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetTablePolicy:
    """ALTER TABLE t [ALTER COLUMN c] SET ROW | MASKING POLICY (..); without a value DROP."""

    table: exp.Table
    column: str | None
    expression: exp.Expr | None
    exists: bool = False


@dataclass(frozen=True, slots=True)
class SetTags:
    """ALTER TABLE t [ALTER COLUMN c] SET | UNSET TAG (..); UNSET without names: all of them."""

    table: exp.Table
    column: str | None
    tags: tuple[str, ...]
    adds: bool = True
    exists: bool = False


@dataclass(frozen=True, slots=True)
class SetTagPolicy:
    """ALTER TAG name SET MASKING POLICY (..) [FOR type]; without a value DROP.

    Without a type SET is for text, and DROP for all types.
    """

    tag: str
    expression: exp.Expr | None
    type: exp.DataType | None = None


OfAccess = (
    CreateRole
    | AlterRole
    | DropRoles
    | GrantRoles
    | GrantPrivileges
    | ChangeOwner
    | ReassignOwned
    | DropOwned
    | AlterDefaultPrivileges
    | SetTablePolicy
    | SetTags
    | SetTagPolicy
)
