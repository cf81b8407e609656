"""Current views in the form that Spark reads fastest. Pure.

    FROM (base UNION ALL delta WHERE end IS NULL) o
        ANTI JOIN delta c ON c.key = o.key AND c.start = o.start AND c.end > c.start
 -> FROM (base and delta) o
        ANTI JOIN delta c ON c.key = o.key AND hash(c.start) = hash(o.start) AND ..
    WHERE o.end IS NULL

Spark compiles a scan, a filter and a join to one loop, but starts another behind a union. It looks
keys of a join up as they are where all of them are whole numbers of eight bytes together, and else
makes a row of each.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.sql.builders import call
from journal.sql.current_views import ask_last, united
from journal.sql.relations import column, union_all
from journal.stores.hive.dialect.types import spark_type
from journal.stores.hive.tiers import SeenTiers

_BYTES = {"TINYINT": 1, "SMALLINT": 2, "INT": 4}
_BYTES_MAX = 4
"""What the keys of a table may have beside a hash of the version."""


def ease_reading(tree: exp.Expr, tiers: SeenTiers) -> None:
    """Change the current views in a tree that nobody else has."""
    for join in list(tree.find_all(exp.Join)):
        if join.kind != "ANTI":
            continue
        source = ask_last(join)
        if source is not None:
            _read_at_once(source, tiers)
        _look_up_numbers(join, tiers)


def _read_at_once(source: exp.Subquery, tiers: SeenTiers) -> None:
    """Read the sealed tiers of a union as one relation."""
    sealed: list[exp.Select] = []
    others: list[exp.Query] = []
    for part in united(source.this):
        assert isinstance(part, exp.Select)
        name = part.args["from_"].this.name
        is_sealed = tiers.inlined(name) is None and tiers.find(name) is not None
        (sealed if is_sealed else others).append(part)
    rows = tiers.in_spark(*(part.args["from_"].this.name for part in sealed))
    if rows is None or len(sealed) == 1:
        return
    together = exp.select(*sealed[0].expressions).from_(rows.subquery("s"))
    source.set("this", union_all([together, *others]))


def _look_up_numbers(join: exp.Join, tiers: SeenTiers) -> None:
    """Compare versions by a hash first, where that makes the keys of the join numbers."""
    table = _table_of(join, tiers)
    on = join.args.get("on")
    if table is None or on is None:
        return
    kinds = [spark_type(table.by_physical(name).type) for name in table.key]
    if sum(_BYTES.get(kind, _BYTES_MAX + 1) for kind in kinds) > _BYTES_MAX:
        return
    version = table.format.version_column
    ended, there = column(version, "c"), column(version, "o")
    for same in [e for e in on.find_all(exp.EQ) if e.this == ended and e.expression == there]:
        differs = exp.or_(
            exp.LT(this=ended.copy(), expression=there.copy()),
            exp.GT(this=ended.copy(), expression=there.copy()),
        )
        hashed = exp.EQ(this=call("hash", ended.copy()), expression=call("hash", there.copy()))
        same.replace(exp.and_(hashed, exp.not_(exp.paren(differs))))


def _table_of(join: exp.Join, tiers: SeenTiers) -> Table | None:
    """The table whose closing rows are joined."""
    for relation in join.this.find_all(exp.Table):
        found = tiers.find(relation.name) if relation.db == STORE_SCHEMA else None
        if found is not None:
            return found[0]
    return None
