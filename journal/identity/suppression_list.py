"""The suppression list: erased identifiers and keys, as keyed hashes, that nobody may write again.

    hash = sha256(secret, sha256(secret, kind, value))

``kind`` says what a value is: ``key`` (of one table), or the type of an identifier, as text or as
a whole number, for all tables that describe it. It also says whose secret made the hash, where that
is another store's: see ``key_ring``. The store computes the hashes, over the rows a transaction is
about to append and over what a request names alike. Builds queries; the commit section runs them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from sqlglot import exp

from journal.identity.descriptor import DescriptorEntry, descriptor_of
from journal.identity.identifiers import normal
from journal.identity.key_ring import labelled, parted, secret_parameter
from journal.identity.normalisers import Normaliser
from journal.identity.paths import leaf_type, values_sql
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.version import Version
from journal.sql.relations import column, ident, union_all
from journal.sql.sql import relation, select

KEY_KIND = "key"
PRESENT_KIND = "present"
"""Of a hash that rows of a table had already when it was suppressed, as somebody had asked."""
SPARED_KIND = "spared"
"""Keys that a request leaves alone as long as a legal hold covers them."""
P_NOW = "p_now"
_SEPARATOR = 31
_OF, _AT = "_of", "_at"
"""Columns beside hashes: the text of a row's key, and what marks the row."""
_SPARED = "_spared"
"""Beside them, the hash by which a legal hold lets the row's key be written."""
FOR, ENDS = "_for", "_ends"
_ZEROED = (exp.DType.FLOAT, exp.DType.DOUBLE)
_INSTANTS = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)


def kind_of_type(name: str, normaliser: Normaliser) -> str:
    """The kind under which identifiers of a type are suppressed, in the form of a normaliser."""
    return f"id:{name}{normaliser.suffix}"


def kind_of_numbers(name: str) -> str:
    """The kind under which identifiers of a type are suppressed in columns of whole numbers."""
    return f"id:{name} number"


def digest(kind: str, text: exp.Expr) -> exp.Expr:
    """The keyed hash of a text; the kind may be a label of another key than the store's."""
    bare, key = parted(kind)
    # Some stores cannot tell the type of a parameter that is only concatenated.
    secret = exp.cast(exp.Placeholder(this=secret_parameter(key)), "VARCHAR", dialect="duckdb")
    label = exp.Literal.string(bare)
    inner = _call("sha256", _call("concat", secret, label, _unit(), text))
    return _call("sha256", _call("concat", secret.copy(), inner))


def digest_of(secret: str, kind: str, text: str) -> str:
    """What ``digest`` gives for a text that is at hand."""
    inner = hashlib.sha256(f"{secret}{kind}{chr(_SEPARATOR)}{text}".encode()).hexdigest()
    return hashlib.sha256(f"{secret}{inner}".encode()).hexdigest()


def key_text(table: Table, of: str) -> exp.Expr:
    """A row's key as one text: the same for equal keys, whoever asks."""
    parts = [_text(column(k, of), table.by_physical(k).type) for k in table.key]
    return parts[0] if len(parts) == 1 else _call("concat_ws", _unit(), *parts)


def _text(value: exp.Expr, kind: str) -> exp.Expr:
    """A value as text: a zero and what is no number without their signs, an instant in UTC."""
    held = exp.DataType.build(kind, dialect="duckdb")
    if held.is_type(*_INSTANTS):
        there = exp.AtTimeZone(this=value, zone=exp.Literal.string("UTC"))
        bare = exp.cast(there, "VARCHAR", dialect="duckdb")
        return _call("concat", bare, exp.Literal.string("+00"))
    if held.is_type(*_ZEROED):
        nan = exp.cast(exp.Literal.string("NaN"), held.copy())
        zero = exp.EQ(this=value, expression=exp.Literal.number(0))
        signed = exp.or_(zero, exp.EQ(this=value.copy(), expression=nan))
        value = exp.Case().when(signed, exp.Abs(this=value.copy())).else_(value.copy())
    return exp.cast(value, "VARCHAR", dialect="duckdb")


def _unit() -> exp.Expr:
    return _call("chr", exp.Literal.number(_SEPARATOR))


@dataclass(frozen=True, slots=True)
class SuppressionList:
    """What is suppressed, by kind and table: enough to know which commits must be looked at.

    ``newest`` is when the last entry was made.
    """

    kinds: frozenset[tuple[str, int | None]] = frozenset()
    newest: Version = 0

    def extended(self, kinds: Iterable[tuple[str, int | None]], since: Version) -> SuppressionList:
        """A fence with entries that were made at ``since``."""
        return SuppressionList(self.kinds | frozenset(kinds), since)

    def concerns(self, table: Table) -> bool:
        """True if rows of the table must be compared with the list."""
        return bool(self.kinds) and any(True for _ in self._columns(table))

    def _columns(self, table: Table) -> Iterator[tuple[str, DescriptorEntry | None]]:
        """What of a table is compared with the list, under which kind; None is the key."""
        keys = (None, *_keys_of(self.kinds))
        for label in (labelled(KEY_KIND, key) for key in keys):
            if (label, table.id) in self.kinds:
                yield label, None
        for identity in descriptor_of(table):
            for label in (labelled(k, key) for k in _kinds(table, identity) for key in keys):
                if (label, None) in self.kinds or (label, table.id) in self.kinds:
                    yield label, identity

    def newest_suppression(self, table: Table, rows: exp.Expr) -> Query:
        """The newest suppression that rows of ``table`` run into: one row, of NULL if none."""
        spares = self._spares(table)
        branches = [_hashes(table, rows, *found, spares=spares) for found in self._columns(table)]
        return Query.of(_newest(table, union_all(branches), spares=spares))

    def _spares(self, table: Table) -> bool:
        """True if a legal hold lets keys of the table be written for the time being."""
        return (SPARED_KIND, table.id) in self.kinds

    def returned(self, table: Table, rows: exp.Expr) -> Query:
        """The same, but for identifiers that rows of the table held when they were suppressed."""
        newest = self.newest_suppression(table, rows).ast
        assert isinstance(newest, exp.Select)
        return Query.of(self._brought_back(newest, table))

    def _brought_back(self, found: exp.Select, table: Table) -> exp.Select:
        """Entries less those that rows of the table had before they were suppressed."""
        before = exp.select(column("hash")).from_(exp.table_("suppressions", db=STORE_SCHEMA))
        of = exp.EQ(this=column("table_id"), expression=exp.Literal.number(table.id))
        is_present = exp.EQ(this=column("kind"), expression=exp.Literal.string(PRESENT_KIND))
        before = before.where(is_present, of)
        among = exp.In(this=column("hash", "s"), query=before.subquery(copy=False))
        return found.where(exp.not_(among))

    @property
    def of_people(self) -> SuppressionList:
        """What is suppressed besides keys."""
        kept = frozenset(k for k in self.kinds if parted(k[0])[0] != KEY_KIND)
        return SuppressionList(kept, self.newest)

    @property
    def of_keys(self) -> SuppressionList:
        """What is suppressed besides identifiers."""
        kept = {KEY_KIND, SPARED_KIND}
        found = frozenset(k for k in self.kinds if parted(k[0])[0] in kept)
        return SuppressionList(found, self.newest)

    def keys(self, table: Table, rows: exp.Expr) -> exp.Select:
        """The keys of the rows that carry what may not come back, once each."""
        start, spares = table.format.version_column, self._spares(table)
        branches = [
            _hashes(table, rows, *found, start, spares=spares) for found in self._columns(table)
        ]
        found = _entries_in_force(table, union_all(branches), column(_OF, "h"), spares=spares)
        caught = self._brought_back(found, table)
        among = exp.In(this=key_text(table, "k"), query=caught.subquery(copy=False))
        source = exp.alias_(rows.copy(), "k", table=True)
        return select([column(k, "k") for k in table.key], source, among).distinct()

    def newest_of_batch(self, table: Table, rows: exp.Expr) -> Query:
        """The same, but for what journal rows that were written together leave as it was.

        A row that begins may hold an identifier that a row had which ended for it: the row of its
        key, or one that its statement ended. Rows that were written just now do not count as had.
        """
        begun, ended = _begun(table, rows), _last_versions(table, rows)
        start, end = table.ends
        spares = self._spares(table)
        branches: list[exp.Query] = []
        for kind, identity in self._columns(table):
            if identity is None:
                branches.append(_hashes(table, begun, kind, None, spares=spares))
                continue
            old = _hashes(table, ended, kind, identity, end)
            new = _hashes(table, begun, kind, identity, start, spares=spares)
            had = [(old, (_OF,)), (old.copy(), (_AT,))]
            branches.append(_without(new, had, spares=spares))
        return Query.of(_newest(table, union_all(branches), spares=spares))

    def brought_beside(
        self,
        table: Table,
        new: exp.Select,
        before: exp.Select,
        changed: exp.Select | None = None,
    ) -> Query:
        """The same for rows of a flat journal, which has no rows that only end others.

        ``before`` is the row that each of the ``new`` ones follows, with the new version as FOR and
        its end as ENDS; ``changed`` are rows that new ones were in place.
        """
        start = table.format.version_column.casefold()
        ended = exp.not_(exp.Is(this=column(ENDS, "d"), expression=exp.Null()))
        dead = select([_all_of("d")], relation(before.copy(), "d"), ended)
        spares = self._spares(table)
        branches: list[exp.Query] = []
        for kind, identity in self._columns(table):
            if identity is None:
                branches.append(_hashes(table, relation(new.copy()), kind, None, spares=spares))
                continue
            had = [(relation(before.copy()), FOR, (_OF, _AT)), (relation(dead), FOR, (_AT,))]
            if changed is not None:
                had.append((relation(changed.copy()), start, (_OF,)))
            old = [(_hashes(table, rows, kind, identity, mark), on) for rows, mark, on in had]
            fresh = _hashes(table, relation(new.copy()), kind, identity, start, spares=spares)
            branches.append(_without(fresh, old, spares=spares))
        return Query.of(_newest(table, union_all(branches), spares=spares))

    def entries(self, table: Table, rows: exp.Expr, mark: str) -> exp.Select:
        """The values of column ``mark`` of the rows that run into a suppression, once each."""
        spares = self._spares(table)
        branches = [
            _hashes(table, rows, *found, mark, spares=spares) for found in self._columns(table)
        ]
        marked = exp.alias_(column(_AT, "h"), ident(mark))
        return _entries_in_force(table, union_all(branches), marked, spares=spares).distinct()


OPEN_FENCE = SuppressionList()
"""Nothing is suppressed."""


@lru_cache(maxsize=16)
def _keys_of(kinds: frozenset[tuple[str, int | None]]) -> tuple[str, ...]:
    """The ids of the keys of other stores that anything is suppressed with."""
    return tuple(sorted({key for kind, _ in kinds if (key := parted(kind)[1]) is not None}))


def _kinds(table: Table, identity: DescriptorEntry) -> list[str]:
    """The kinds under which values of an identity are suppressed; once numbers were as text was."""
    as_text = kind_of_type(identity.type, identity.normaliser)
    return list(dict.fromkeys([as_text, kind_of_leaf(table, identity)]))


def kind_of_leaf(table: Table, identity: DescriptorEntry) -> str:
    """The kind under which values of an identity are suppressed where they are of its type."""
    kind = exp.DataType.build(table.by_physical(identity.path.root).type, dialect="duckdb")
    leaf = leaf_type(kind, identity.path)
    if leaf is None or leaf.is_type(*exp.DataType.TEXT_TYPES):
        return kind_of_type(identity.type, identity.normaliser)
    return kind_of_numbers(identity.type)


def _newest(table: Table, hashes: exp.Query, *, spares: bool) -> exp.Select:
    """When the newest entry was made that one of the hashes is in."""
    return _entries_in_force(table, hashes, exp.Max(this=column("since", "s")), spares=spares)


def _entries_in_force(
    table: Table, hashes: exp.Query, output: exp.Expr, *, spares: bool
) -> exp.Select:
    """The entries in force that the hashes are in, less those of requests that spare the key."""
    listed = exp.table_("suppressions", db=STORE_SCHEMA, alias="s")
    here = exp.or_(
        exp.Is(this=column("table_id", "s"), expression=exp.Null()),
        exp.EQ(this=column("table_id", "s"), expression=exp.Literal.number(table.id)),
    )
    live = exp.or_(
        exp.Is(this=column("expires", "s"), expression=exp.Null()),
        exp.GT(this=column("expires", "s"), expression=exp.Placeholder(this=P_NOW)),
    )
    same = [exp.EQ(this=column(n, "s"), expression=column(n, "h")) for n in ("kind", "hash")]
    found = exp.select(output).from_(listed)
    found = found.join(hashes.subquery("h"), on=exp.and_(*same)).where(here, live)
    if not spares:
        return found
    # Under a hold a row may be written, whatever the requests that spare its key suppress.
    spared = exp.table_("suppressions", db=STORE_SCHEMA, alias="p")
    its = [
        exp.EQ(this=column("kind", "p"), expression=exp.Literal.string(SPARED_KIND)),
        exp.EQ(this=column("table_id", "p"), expression=exp.Literal.number(table.id)),
        exp.EQ(this=column("request", "p"), expression=column("request", "s")),
        exp.EQ(this=column("hash", "p"), expression=column(_SPARED, "h")),
    ]
    found = found.join(spared, on=exp.and_(*its), join_type="left")
    return found.where(exp.Is(this=column("hash", "p"), expression=exp.Null()))


def _without(
    new: exp.Select, had: Sequence[tuple[exp.Select, Sequence[str]]], *, spares: bool
) -> exp.Select:
    """The hashes of new rows that no row before had; each of those says what makes them its."""
    shown = ["kind", "hash", *([_SPARED] if spares else [])]
    fresh = exp.select(*[column(name, "n") for name in shown]).from_(relation(new, "n"))
    for place, (old, names) in enumerate(had):
        of = f"o{place}"
        same = [exp.EQ(this=column(n, of), expression=column(n, "n")) for n in ("hash", *names)]
        join = exp.Join(this=relation(old, of), kind="ANTI", on=exp.and_(*same))
        fresh.append("joins", join)
    return fresh


def _begun(table: Table, rows: exp.Expr) -> exp.Subquery:
    """Those of journal rows that begin a row version."""
    end = column(table.format.subsequent_column, "b")
    source = exp.alias_(rows.copy(), "b", table=True)
    return relation(select([_all_of("b")], source, exp.Is(this=end, expression=exp.Null())))


def _last_versions(table: Table, rows: exp.Expr) -> exp.Subquery:
    """Those that end a row version which none of them has begun."""
    start, end = table.ends
    later = exp.GT(this=column(end, "e"), expression=column(start, "e"))
    ended = select([_all_of("e")], exp.alias_(rows.copy(), "e", table=True), later)
    pairs = [exp.EQ(this=column(n, "w"), expression=column(n, "e")) for n in (*table.key, start)]
    own = _begun(table, rows)
    own.set("alias", exp.TableAlias(this=exp.to_identifier("w")))
    ended.append("joins", exp.Join(this=own, kind="ANTI", on=exp.and_(*pairs)))
    return relation(ended)


def _all_of(alias: str) -> exp.Column:
    return exp.Column(this=exp.Star(), table=exp.to_identifier(alias))


def _hashes(
    table: Table,
    rows: exp.Expr,
    kind: str,
    identity: DescriptorEntry | None,
    mark: str | None = None,
    *,
    spares: bool = False,
) -> exp.Select:
    """What of the rows is compared with the list.

    With a ``mark``, of which key, and that column of the row; where the table ``spares`` keys, the
    hash by which the row's is spared.
    """
    source = exp.alias_(rows.copy(), "r", table=True)
    of: list[exp.Expr] = []
    if mark is not None:
        of = [exp.alias_(key_text(table, "r"), _OF), exp.alias_(column(mark, "r"), _AT)]
    if spares:
        its = labelled(SPARED_KIND, parted(kind)[1])
        of.append(exp.alias_(digest(its, key_text(table, "r")), _SPARED))
    if identity is None:
        return _hash_query(kind, key_text(table, "r")).select(*of).from_(source)
    value = values_sql(identity.path, "r")
    if identity.path.is_list:
        value = _call("unnest", value)
    values = exp.select(exp.alias_(value, ident("v")), *of).from_(source)
    text = normal(column("v", "x"), identity.normaliser)
    kept = [column(name.alias, "x") for name in of]
    return _hash_query(kind, text).select(*kept).from_(values.subquery("x"))


def _hash_query(kind: str, text: exp.Expr) -> exp.Select:
    label = exp.alias_(exp.Literal.string(kind), "kind")
    return exp.select(label, exp.alias_(digest(kind, text), "hash"))


def suppressed_rows(
    kind: str,
    text: exp.Expr,
    source: exp.Expr,
    values: Sequence[exp.Expr],
    label: str | None = None,
) -> exp.Select:
    """An entry of the list for each row of ``source``; ``values`` are table, request, since,
    expires.

    It has another ``label`` than its kind where it is no suppression itself.
    """
    table_id, request, since, expires = values
    numbers = [exp.cast(v, "BIGINT", dialect="duckdb") for v in (table_id, since, expires)]
    outputs = [
        exp.Literal.string(label or kind),
        numbers[0],
        digest(kind, text),
        request,
        *numbers[1:],
    ]
    return exp.select(*outputs).distinct().from_(source)


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
