"""Who may do what: roles, and of each object its owner and its grants. Values without I/O.

Roles, tables and sequences go by numbers that are never used again, so whatever is made anew under
an old name inherits nothing; views, schemas and the database go by name. Role 0 is PUBLIC. What has
no owner belongs to those who hold ADMIN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import StrEnum
from types import MappingProxyType

from journal.model.lazy_dataclass import dataclass
from journal.model.named_definitions import DefinitionKey
from journal.model.row_policy import NamedPolicy, TablePolicy
from journal.model.table_name import fold

PUBLIC = 0
"""The id of the role that everybody is a member of."""


class Privilege(StrEnum):
    """What a role may be granted on an object."""

    SELECT = "SELECT"
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    TRUNCATE = "TRUNCATE"
    REFERENCES = "REFERENCES"
    CREATE = "CREATE"
    USAGE = "USAGE"
    HISTORY = "HISTORY"
    """Reading earlier versions of rows."""
    MAINTAIN = "MAINTAIN"
    """Running jobs."""
    ERASE = "ERASE"
    APPROVE = "APPROVE"
    ACCESS = "ACCESS"
    """Giving people what is stored of them."""
    HOLD = "HOLD"
    POLICY = "POLICY"
    ADMIN = "ADMIN"
    """Everything."""


class ObjectKind(StrEnum):
    """What privileges are granted on."""

    TABLE = "table"
    VIEW = "view"
    SEQUENCE = "sequence"
    SCHEMA = "schema"
    DATABASE = "database"
    TAG = "tag"
    DEFAULT = "default"
    """What is granted on objects that will be made; see ``default_key``."""


_OWN_OF_TABLES = (Privilege.HISTORY, Privilege.MAINTAIN, Privilege.POLICY)
_OF_ROWS = (
    Privilege.SELECT, Privilege.INSERT, Privilege.UPDATE, Privilege.DELETE, Privilege.TRUNCATE,
    Privilege.REFERENCES,
)  # fmt: skip
STANDARD: Mapping[ObjectKind, tuple[Privilege, ...]] = {
    ObjectKind.TABLE: _OF_ROWS,
    ObjectKind.VIEW: _OF_ROWS,
    ObjectKind.SEQUENCE: (Privilege.SELECT, Privilege.UPDATE, Privilege.USAGE),
    ObjectKind.SCHEMA: (Privilege.CREATE, Privilege.USAGE),
    ObjectKind.DATABASE: (Privilege.CREATE,),
    ObjectKind.TAG: (Privilege.SELECT,),
}
"""What GRANT ALL means: the privileges of SQL. Ours are granted by their names."""
GRANTABLE: Mapping[ObjectKind, tuple[Privilege, ...]] = {
    **STANDARD,
    ObjectKind.TABLE: (*_OF_ROWS, *_OWN_OF_TABLES),
    ObjectKind.VIEW: (*_OF_ROWS, Privilege.HISTORY),
    ObjectKind.DATABASE: (
        Privilege.CREATE, *_OWN_OF_TABLES, Privilege.ERASE, Privilege.APPROVE, Privilege.ACCESS,
        Privilege.HOLD, Privilege.ADMIN,
    ),
}  # fmt: skip
OF_COLUMNS = frozenset({Privilege.SELECT, Privilege.INSERT, Privilege.UPDATE, Privilege.REFERENCES})


@dataclass(frozen=True, slots=True)
class Membership:
    """A role that another one is a member of; ``admin`` lets it make others members."""

    role: int
    admin: bool = False


@dataclass(frozen=True, slots=True)
class Role:
    """A role, which is a user where it ``can_login``.

    ``verifier`` is what a password is checked against, never the password. ``valid_until`` is the
    moment (ISO 8601, UTC) from which it is not taken any more. ``connection_limit`` -1: none.
    ``bypasses_policies``: tables' policies on rows and columns leave it alone, not its members.
    """

    id: int
    name: str
    can_login: bool = False
    inherits: bool = True
    creates_roles: bool = False
    is_superuser: bool = False
    bypasses_policies: bool = False
    connection_limit: int = -1
    verifier: str | None = field(default=None, repr=False)
    valid_until: str | None = None
    memberships: tuple[Membership, ...] = ()
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """One object: by ``id``, or by ``schema`` and ``name`` (folded) where it has none."""

    kind: ObjectKind
    id: int = 0
    schema: str = ""
    name: str = ""


DATABASE_KEY = ObjectKey(ObjectKind.DATABASE)


def default_key(kind: ObjectKind, owner: int | None, schema: str = "") -> ObjectKey:
    """Where the grants on objects stand that ``owner`` will make, in one (folded) schema or in all.

    A view is a table here. None is whoever has no role, by number 0.
    """
    made = ObjectKind.TABLE if kind is ObjectKind.VIEW else kind
    return ObjectKey(ObjectKind.DEFAULT, owner or 0, schema, made.value)


@dataclass(frozen=True, slots=True)
class PrivilegeGrant:
    """A privilege of a role on an object, or on one of its columns (by physical name).

    ``grantor`` is the role that granted it, PUBLIC where the owner did.
    """

    role: int
    privilege: Privilege
    column: str = ""
    grantable: bool = False
    grantor: int = PUBLIC


@dataclass(frozen=True, slots=True)
class TableTag:
    """A tag of a table, or of one of its columns by physical name.

    Where it was inherited, ``source`` is the id of the table that it came from, and
    ``source_column`` the column there, physical as well; 0 where somebody set it.
    """

    column: str
    tag: str
    source: int = 0
    source_column: str = ""


@dataclass(frozen=True, slots=True)
class ObjectAccess:
    """The owner of an object, None for ADMIN; what is granted on it, and what is seen of it.

    The policies of a tag are the masks of the columns that have it, over ``VALUE``: each for a
    family of types, which stands where the column of others does; ``VALUE`` there means text.
    ``named_policies`` are in force where the table ``secures_rows``; what they come to is among
    ``policies`` then. Where it ``forces_rows``, they are for its owner as well. ``calls``:
    expressions of policies, each with a macro that it calls.
    """

    key: ObjectKey
    owner: int | None = None
    grants: tuple[PrivilegeGrant, ...] = ()
    policies: tuple[TablePolicy, ...] = ()
    tags: tuple[TableTag, ...] = ()
    named_policies: tuple[NamedPolicy, ...] = ()
    secures_rows: bool = False
    forces_rows: bool = False
    calls: tuple[tuple[str, DefinitionKey], ...] = ()

    @property
    def conditions(self) -> tuple[TablePolicy, ...]:
        """All expressions of policies, of those that are in no force as well."""
        texts = [t for p in self.named_policies for t in (p.using, p.check) if t is not None]
        return (*self.policies, *(TablePolicy("", text) for text in texts))


VALUE = "value"
"""What the mask of a tag calls the value that it masks."""


@dataclass(frozen=True, slots=True)
class TagMask:
    """The masks of a tag on a column by its physical name, or on all of a table's.

    ``masks`` are by family of types; a column of a type without one shows NULL.
    """

    column: str
    tag: str
    masks: tuple[TablePolicy, ...]


def tag_key(tag: str) -> ObjectKey:
    """The key of a tag; tags go by name, without regard to case."""
    return ObjectKey(ObjectKind.TAG, name=fold(tag))


@dataclass(frozen=True, slots=True)
class PutRole:
    """Catalog change: a new role, or one in the place of its earlier self."""

    role: Role


@dataclass(frozen=True, slots=True)
class DropRole:
    """Catalog change: a role disappears, and with it all memberships in it."""

    role: int


@dataclass(frozen=True, slots=True)
class PutAccess:
    """Catalog change: the owner and the grants of an object."""

    access: ObjectAccess


@dataclass(frozen=True, slots=True)
class PutTags:
    """Catalog change: a table gets tags and loses others; the rest of its access stays."""

    key: ObjectKey
    added: tuple[TableTag, ...] = ()
    removed: tuple[TableTag, ...] = ()


AccessChange = PutRole | DropRole | PutAccess | PutTags


@dataclass(frozen=True, slots=True)
class AccessControl:
    """All roles by id, and the access of objects of which something was ever said."""

    roles: Mapping[int, Role] = field(default_factory=lambda: MappingProxyType({}))
    objects: Mapping[ObjectKey, ObjectAccess] = field(default_factory=lambda: MappingProxyType({}))

    def by_name(self, name: str) -> Role | None:
        """The role of that name, compared without regard to case."""
        wanted = fold(name)
        return next((r for r in self.roles.values() if fold(r.name) == wanted), None)

    def of(self, key: ObjectKey) -> ObjectAccess:
        """The access of an object."""
        return self.objects.get(key) or ObjectAccess(key)

    def of_new(self, key: ObjectKey, owner: int | None, schema: str) -> ObjectAccess:
        """The access of an object that ``owner`` makes in a schema, by default privileges."""
        everywhere = self.of(default_key(key.kind, owner))
        inside = self.of(default_key(key.kind, owner, schema)) if schema else everywhere
        found = dict.fromkeys((*everywhere.grants, *inside.grants))
        return ObjectAccess(key, owner, tuple(g for g in found if g.role != owner))

    def after(self, change: AccessChange) -> AccessControl:
        """The same after a change."""
        match change:
            case PutRole(role):
                return replace(self, roles=MappingProxyType({**self.roles, role.id: role}))
            case DropRole(gone):
                roles = {
                    i: replace(r, memberships=tuple(m for m in r.memberships if m.role != gone))
                    for i, r in self.roles.items()
                    if i != gone
                }
                return replace(self, roles=MappingProxyType(roles))
            case PutAccess(access):
                objects = {**self.objects, access.key: access}
                return replace(self, objects=MappingProxyType(objects))
            case PutTags(key, added, removed):
                known = self.of(key)
                kept = dict.fromkeys(t for t in (*known.tags, *added) if t not in removed)
                return self.after(PutAccess(replace(known, tags=tuple(kept))))

    def masks_of(self, tag: str) -> tuple[TablePolicy, ...]:
        """The masks of a tag as canonical SQL over ``VALUE``, one for each family of types."""
        return self.of(tag_key(tag)).policies

    def has_masks(self, key: ObjectKey) -> bool:
        """Whether anybody sees columns of a table masked."""
        found = self.of(key)
        is_masked = any(p.column for p in found.policies)
        return is_masked or any(self.masks_of(t.tag) for t in found.tags)

    def without(self, keys: Iterable[ObjectKey]) -> AccessControl:
        """The same where nothing is known of some objects."""
        gone = set(keys)
        if gone.isdisjoint(self.objects):
            return self
        kept = {k: a for k, a in self.objects.items() if k not in gone}
        return replace(self, objects=MappingProxyType(kept))

    def with_new_key(self, old: ObjectKey, new: ObjectKey) -> AccessControl:
        """The same where an object has got another key."""
        found = self.objects.get(old)
        if found is None or old == new:
            return self
        kept = {k: a for k, a in self.objects.items() if k != old}
        kept[new] = replace(found, key=new)
        return replace(self, objects=MappingProxyType(kept))

    def member_of(self, role: int, *, inherited: bool) -> frozenset[int]:
        """All roles that a role is a member of, itself and PUBLIC included.

        ``inherited``: only those whose privileges it has without SET ROLE.
        """
        found: set[int] = {PUBLIC}
        rest = [role]
        while rest:
            known = self.roles.get(rest.pop())
            if known is None or known.id in found:
                continue
            found.add(known.id)
            if known.inherits or not inherited:
                rest += [m.role for m in known.memberships]
        return frozenset(found)

    def named_by(self, role: int) -> Iterator[ObjectAccess]:
        """The objects that a role owns, or has or gave privileges on, now or by default, and
        those that have row policies for it."""
        for access in self.objects.values():
            named = any(role in (g.role, g.grantor) for g in access.grants)
            is_default = access.key.kind is ObjectKind.DEFAULT and access.key.id == role
            named = named or (is_default and bool(access.grants))
            named = named or any(role in policy.roles for policy in access.named_policies)
            if role != PUBLIC and (access.owner == role or named):
                yield access


@dataclass(frozen=True, slots=True)
class Rights:
    """What one role may do; ``role`` None may do everything.

    ``home`` is the folded name of the schema that everybody may use from the beginning.
    """

    access: AccessControl
    role: int | None
    home: str = ""
    names: frozenset[int] = field(init=False)
    """The roles whose privileges it has."""
    is_admin: bool = field(init=False)

    def __post_init__(self) -> None:
        names: frozenset[int] = frozenset()
        is_admin = self.role is None
        if self.role is not None:
            names = self.access.member_of(self.role, inherited=True)
            known = self.access.roles.get(self.role)
            if known is None:
                # A role that was dropped has not even what PUBLIC has.
                names = frozenset()
            grants = self.access.of(DATABASE_KEY).grants
            is_admin = known is not None and (
                known.is_superuser
                or any(g.privilege is Privilege.ADMIN and g.role in names for g in grants)
            )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "is_admin", is_admin)

    def of(self, role: int | None) -> Rights:
        """The rights of another role."""
        return Rights(self.access, role, self.home)

    def access_of(self, key: ObjectKey) -> ObjectAccess:
        """The owner and the grants of an object, those of the beginning included."""
        is_home = key.kind is ObjectKind.SCHEMA and key.schema == self.home
        if is_home and key not in self.access.objects:
            return ObjectAccess(key, None, (PrivilegeGrant(PUBLIC, Privilege.USAGE),))
        return self.access.of(key)

    def owns(self, key: ObjectKey) -> bool:
        """True for the owner, for members of the owner, and for ADMIN."""
        return self.is_admin or self.access.of(key).owner in self.names

    def policies_on(self, key: ObjectKey) -> tuple[TablePolicy, ...]:
        """The policies that a role reads a table under: none where it owns it, or bypasses them."""
        access = self.access.of(key)
        found = access.policies
        if access.forces_rows and not self.is_admin and access.owner in self.names:
            return tuple(p for p in found if not p.column)
        known = None if self.role is None or not found else self.access.roles.get(self.role)
        bypasses = known is not None and known.bypasses_policies
        return () if not found or bypasses or self.owns(key) else found

    def tag_masks_on(self, key: ObjectKey) -> tuple[TagMask, ...]:
        """The masks of tags that a role reads a table under, by tag; it lacks SELECT on these."""
        found = self.access.of(key).tags
        if not found or self.owns(key):
            return ()
        masks = {}
        for one in found:
            of_tag = self.access.masks_of(one.tag)
            if of_tag and not self.may(tag_key(one.tag), Privilege.SELECT):
                masks[fold(one.tag), one.column] = TagMask(one.column, one.tag, of_tag)
        return tuple(masks[place] for place in sorted(masks))

    def is_restricted(self, key: ObjectKey) -> bool:
        """Whether a role reads a table under policies, its own or those of tags."""
        return bool(self.policies_on(key) or self.tag_masks_on(key))

    def grants_on(self, key: ObjectKey) -> Iterator[PrivilegeGrant]:
        """What the role is granted on an object."""
        return (g for g in self.access_of(key).grants if g.role in self.names)

    def may(self, key: ObjectKey, privilege: Privilege) -> bool:
        """True for a privilege on the whole object; ours may be held on the database."""
        if self.owns(key):
            return True
        if any(g.privilege is privilege and not g.column for g in self.grants_on(key)):
            return True
        is_wide = privilege in _OWN_OF_TABLES and key != DATABASE_KEY
        return is_wide and self.may(DATABASE_KEY, privilege)

    def columns(self, key: ObjectKey, privilege: Privilege) -> frozenset[str]:
        """The columns, by physical name, on which the role has a privilege by itself."""
        found = (g for g in self.grants_on(key) if g.privilege is privilege)
        return frozenset(g.column for g in found if g.column)

    def sees(self, key: ObjectKey) -> bool:
        """True for an object on which the role has any privilege."""
        return self.owns(key) or any(True for _ in self.grants_on(key))

    def may_grant(self, key: ObjectKey, privilege: Privilege, column: str) -> bool:
        """True for the owner, and for those who have the privilege with grant option."""
        if self.owns(key):
            return True
        return any(
            g.grantable and g.privilege is privilege and g.column in ("", column)
            for g in self.grants_on(key)
        )
