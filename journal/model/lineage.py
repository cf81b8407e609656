"""Where the columns come from that an executed statement writes: edges between columns of nodes.

A node is a table by its id, so that it stays itself under another name and a new table of its name
is another one; a view by its name; or a file by its path. Columns of tables are physical names.
Values; what reads them off a statement is ``rewriter.lineage``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Relation, Table

DIRECT = "DIRECT"
UNKNOWN = "UNKNOWN"
"""The kind of an edge from nowhere: a column whose sources could not be told, with the reason."""
WHOLE = "*"
"""The column that stands for whole rows."""
FILE_META = "file"
"""Under this a tree keeps in its ``meta`` the file whose rows it writes, as the client named it."""
CLIENT = "client:"
"""The node of rows that a client has sent in a file of its own."""
_TABLE, _VIEW, _FILE = "table:", "view:", "file:"


def table_node(table_id: int) -> str:
    """The node of a table."""
    return f"{_TABLE}{table_id}"


def view_node(name: str) -> str:
    """The node of a view, by its whole name in lower case."""
    return _VIEW + name


def file_node(path: str) -> str:
    """The node of a file: its path, or its URL without what may give access to it.

    >>> file_node("https://ada:secret@example.org/day.csv?token=1")
    'file:https://example.org/day.csv'
    """
    scheme, mark, rest = path.partition("://")
    if not mark:
        return _FILE + path
    host, slash, place = rest.partition("?")[0].partition("/")
    return f"{_FILE}{scheme}://{host.rpartition('@')[2]}{slash}{place}"


def node_of(relation: Relation) -> str:
    """The node of a relation of the catalog."""
    if isinstance(relation, Table):
        return table_node(relation.id)
    return view_node(str(relation.name).lower())


def table_id_of(node: str) -> int | None:
    """The id of the table that a node is; None for another."""
    return int(node.removeprefix(_TABLE)) if node.startswith(_TABLE) else None


def view_of(node: str) -> str | None:
    """The whole name of the view that a node is; None for another."""
    return node.removeprefix(_VIEW) if node.startswith(_VIEW) else None


def file_of(node: str) -> str | None:
    """The path of the file that a node is; None for another."""
    return node.removeprefix(_FILE) if node.startswith(_FILE) else None


class ColumnNode(NamedTuple):
    """A column of a node; an empty ``column`` stands for the node itself."""

    node: str
    column: str = ""


class NodeEdge(NamedTuple):
    """One column that another comes from; ``unknown`` says why that, or more, cannot be told.

    ``kind`` and ``subtype`` are those of OpenLineage: DIRECT with IDENTITY, TRANSFORMATION or
    AGGREGATION, INDIRECT with JOIN, FILTER, GROUP_BY, SORT, WINDOW or CONDITIONAL; or UNKNOWN, and
    then there is no source.
    """

    target: str
    target_column: str
    source: str | None
    source_column: str | None
    kind: str
    subtype: str
    masking: bool = False
    unknown: str | None = None


class Rename(NamedTuple):
    """A node that is called otherwise from now on: a view, which has no id."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class StatementLineage:
    """What a statement reads and writes, and where the columns come from that it writes.

    ``ends`` are views that come from nothing any more that they came from before. ``gone`` are
    those that nothing comes from any more either.
    """

    edges: tuple[NodeEdge, ...] = ()
    reads: frozenset[ColumnNode] = frozenset()
    writes: frozenset[ColumnNode] = frozenset()
    ends: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    renames: tuple[Rename, ...] = ()
    temporary: frozenset[str] = frozenset()
    """The nodes among them that are temporary tables, of which nothing is recorded."""


@dataclass(frozen=True, slots=True)
class CommittedLineage:
    """The lineage of a statement, as its commit records it.

    ``id`` is the same for statements that differ in values alone and mean the same tables;
    ``digest`` and ``text`` are those of the statement without its values.
    """

    id: str
    digest: str
    tag: str
    text: str
    lineage: StatementLineage


class LineageTrace(Protocol):
    """The lineage of one statement, which is read off its tree when somebody first asks."""

    known: CommittedLineage | None
    """What was found, once it has a name: it is kept here with the plan."""

    @property
    def catalog(self) -> object:
        """The catalog in which names are looked up; under the same one they mean the same."""

    @property
    def names(self) -> object:
        """The schemas in which they are looked up."""

    def read(self) -> StatementLineage:
        """What the statement reads and writes; what cannot be followed is an UNKNOWN edge."""


class StatementOrigin(NamedTuple):
    """A statement that has run: how its lineage is read, and what is noted of it.

    ``sent_in`` is the file with rows that its client has sent, if it has.
    """

    trace: LineageTrace
    tag: str
    text: str
    dialect: str
    sent_in: str | None = None


def unknown_edge(target: str, column: str, why: str) -> NodeEdge:
    """An edge that says why it cannot be told where a column comes from."""
    return NodeEdge(target, column, None, None, UNKNOWN, UNKNOWN, unknown=why)


def changes_definitions(lineage: StatementLineage) -> bool:
    """True if a commit has to say something of it each time."""
    return bool(lineage.ends or lineage.gone or lineage.renames)


def nodes_of(edges: Sequence[NodeEdge]) -> dict[str, None]:
    """The nodes of some edges, each once, in order."""
    return dict.fromkeys(n for e in edges for n in (e.target, e.source) if n is not None)
