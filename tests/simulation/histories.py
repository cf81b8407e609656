"""A checker of recorded histories for snapshot isolation, after Elle; pure.

The workload appends unique values to lists and reads whole lists. The order of values in a list is
the order of the versions of its key, so the dependencies between transactions can be read off:

    ww  B appended directly after A's last append          wr  B read a list ending with A's append
    rw  B appended directly after the list that A read     rt  A had ended before B began

Snapshot isolation forbids every cycle without two adjacent rw edges (write skew, which has two
adjacent ones, is allowed). `rt` makes it strong: a new transaction sees all that was acknowledged.
"""

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Values: TypeAlias = tuple[int, ...]
Edge: TypeAlias = Literal["ww", "wr", "rw", "rt"]
Graph: TypeAlias = dict[int, dict[int, set[Edge]]]


@dataclass(frozen=True, slots=True)
class Append:
    """A transaction appended a value to the list of a key."""

    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Read:
    """A transaction read the whole list of a key."""

    key: int
    values: Values


@dataclass(frozen=True, slots=True)
class Transaction:
    """What one transaction did, how it ended, and when it began and ended."""

    id: int
    operations: tuple[Append | Read, ...]
    committed: bool
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something snapshot isolation forbids, by its usual name."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class _Index:
    """The writer of each value, and the order of values per key."""

    writers: Mapping[int, Transaction]
    last_of: Mapping[tuple[int, int], int]
    order: Mapping[int, Values]


def find_anomalies(history: Sequence[Transaction], final: Mapping[int, Values]) -> list[Anomaly]:
    """Return every anomaly; `final` is what was read after all transactions had ended."""
    index = _index(history, final)
    committed = [transaction for transaction in history if transaction.committed]
    anomalies = list(_lost_appends(committed, final))
    for transaction in committed:
        anomalies += _bad_reads(transaction, index)
        anomalies += _changed_reads(transaction)
    if anomalies:
        return anomalies
    cycle = find_cycle(_graph(committed, index))
    if cycle:
        anomalies.append(_named_cycle(cycle))
    return anomalies


def _index(history: Sequence[Transaction], final: Mapping[int, Values]) -> _Index:
    writers: dict[int, Transaction] = {}
    last_of: dict[tuple[int, int], int] = {}
    for transaction in history:
        for operation in transaction.operations:
            if isinstance(operation, Append):
                writers[operation.value] = transaction
                last_of[transaction.id, operation.key] = operation.value
    return _Index(writers, last_of, dict(final))


def _lost_appends(
    committed: Iterable[Transaction], final: Mapping[int, Values]
) -> Iterable[Anomaly]:
    for transaction in committed:
        for operation in transaction.operations:
            if isinstance(operation, Append):
                count = final.get(operation.key, ()).count(operation.value)
                if count == 0:
                    yield Anomaly("lost update", f"{operation} of transaction {transaction.id}")
                if count > 1:
                    yield Anomaly("duplicate", f"{operation} of transaction {transaction.id}")


def _bad_reads(transaction: Transaction, index: _Index) -> Iterable[Anomaly]:
    for operation in transaction.operations:
        if not isinstance(operation, Read):
            continue
        where = f"{operation} by transaction {transaction.id}"
        values = [
            value
            for value in operation.values
            if value not in index.writers or index.writers[value].id != transaction.id
        ]
        for value in values:
            writer = index.writers.get(value)
            if writer is None:
                yield Anomaly("garbage read", where)
            elif not writer.committed:
                yield Anomaly("aborted read", where)
        if tuple(values) != index.order.get(operation.key, ())[: len(values)]:
            yield Anomaly("incompatible order", where)
        if values:
            writer = index.writers.get(values[-1])
            if writer and index.last_of[writer.id, operation.key] != values[-1]:
                yield Anomaly("intermediate read", where)


def _changed_reads(transaction: Transaction) -> Iterable[Anomaly]:
    known: dict[int, Values] = {}
    own: dict[int, Values] = defaultdict(tuple)
    for operation in transaction.operations:
        key = operation.key
        if isinstance(operation, Append):
            own[key] += (operation.value,)
            if key in known:
                known[key] += (operation.value,)
            continue
        expected = known.get(key)
        if expected is not None and expected != operation.values:
            yield Anomaly("non-repeatable read", f"{operation} by {transaction.id}: {expected}")
        if own[key] and operation.values[-len(own[key]) :] != own[key]:
            yield Anomaly("own write not read", f"{operation} by {transaction.id}")
        known[key] = operation.values


def _graph(committed: Sequence[Transaction], index: _Index) -> Graph:
    graph: Graph = {transaction.id: defaultdict(set) for transaction in committed}
    for values in index.order.values():
        for before, after in itertools.pairwise(values):
            _connect(graph, index.writers[before].id, index.writers[after].id, "ww")
    for transaction in committed:
        for operation in transaction.operations:
            if isinstance(operation, Read):
                _connect_read(graph, transaction, operation, index)
    _connect_real_time(graph, committed)
    return graph


def _connect_read(graph: Graph, reader: Transaction, read: Read, index: _Index) -> None:
    seen = [value for value in read.values if index.writers[value].id != reader.id]
    if seen:
        _connect(graph, index.writers[seen[-1]].id, reader.id, "wr")
    order = index.order.get(read.key, ())
    if len(seen) < len(order):
        _connect(graph, reader.id, index.writers[order[len(seen)]].id, "rw")


def _connect_real_time(graph: Graph, committed: Sequence[Transaction]) -> None:
    by_start = sorted(committed, key=lambda transaction: transaction.began)
    for transaction in committed:
        following = [other for other in by_start if other.began > transaction.ended]
        if not following:
            continue
        # Whoever begins after one of these ended is reached through it.
        horizon = min(other.ended for other in following)
        for other in following:
            if other.began > horizon:
                break
            _connect(graph, transaction.id, other.id, "rt")


def _connect(graph: Graph, source: int, target: int, edge: Edge) -> None:
    if source != target and source in graph and target in graph:
        graph[source][target].add(edge)


def find_cycle(graph: Graph) -> list[tuple[int, Edge]]:
    """Return a shortest cycle without two adjacent rw edges, as (transaction, edge taken)."""
    for start in graph:
        for first, edges in graph[start].items():
            for edge in edges:
                path = _path_back(graph, start, first, edge)
                if path:
                    return path
    return []


def _path_back(graph: Graph, start: int, first: int, edge: Edge) -> list[tuple[int, Edge]]:
    origin = (first, edge == "rw")
    came: dict[tuple[int, bool], tuple[tuple[int, bool], Edge] | None] = {origin: None}
    queue = deque([origin])
    while queue:
        node, after_rw = state = queue.popleft()
        if node == start:
            if after_rw and edge == "rw":
                continue
            return [(start, edge), *_unwind(came, state)]
        for target, edges in graph[node].items():
            for following in edges:
                if after_rw and following == "rw":
                    continue
                reached = (target, following == "rw")
                if reached not in came:
                    came[reached] = (state, following)
                    queue.append(reached)
    return []


def _unwind(
    came: Mapping[tuple[int, bool], tuple[tuple[int, bool], Edge] | None],
    state: tuple[int, bool],
) -> list[tuple[int, Edge]]:
    steps: list[tuple[int, Edge]] = []
    step = came[state]
    while step is not None:
        previous, edge = step
        steps.append((previous[0], edge))
        step = came[previous]
    return steps[::-1]


def _named_cycle(cycle: Sequence[tuple[int, Edge]]) -> Anomaly:
    edges = [edge for _, edge in cycle]
    if "rw" not in edges:
        name = (
            "G0 (write cycle)" if set(edges) <= {"ww", "rt"} else "G1c (circular information flow)"
        )
    elif edges.count("rw") == 1:
        name = "G-single (read skew)"
    else:
        name = "G-nonadjacent"
    return Anomaly(name, " ".join(f"{node} -{edge}->" for node, edge in cycle))
