"""The statements that the fuzzer of parser and rules changes, with the tables they speak of.

They come from the logic files, the golden files, the pages of docs and what SQLAlchemy's compilers
make of a model. A folder of other texts may be added: ``.sql`` files, and texts in ``.py`` files.
Nothing is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from journal.model.catalog import apply
from journal.model.errors import PalimpsestError
from journal.model.plan import Change
from journal.model.schema import OWN_SCHEMA, CatalogSnapshot
from rewriter.context import RewriteContext
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.synthetic_catalog import plain_scan_info, query_columns
from rewriter.rewriter import rewrite_statement
from rewriter.statement import SqlStatement
from rewriter.statements.own_statement import OwnStatement
from rewriter.syntax.parsing import parse
from tests.rewriter.golden.case import all_cases
from tests.support.logic.records import Query, Statement, parse_file
from tests.support.pages import parts

ROOT = Path(__file__).resolve().parents[3]
_BEGINS = re.compile(
    r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE|MERGE|CREATE|ALTER|DROP|FROM|VALUES|TRUNCATE|COPY|EXPLAIN"
    r"|SHOW|SET|COMMENT|PIVOT|UNPIVOT|DESCRIBE|PREPARE|EXECUTE|CALL|ERASE|RESTORE|REPLACE)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Source:
    """Texts that belong together, in one dialect, over the tables that they create."""

    name: str
    dialect: str
    texts: tuple[str, ...]
    catalog: CatalogSnapshot


def all_sources(folder: Path | None = None) -> list[Source]:
    """Every source, in an order that does not change; with those of a folder, if one is given."""
    found = [*_logic_files(), *_golden_files(), *_pages(), *_of_sqlalchemy()]
    return [*found, *(() if folder is None else _of_folder(folder))]


def _logic_files() -> Iterator[Source]:
    for path in sorted((ROOT / "tests" / "fixtures" / "logic").glob("*.slt")):
        actions = [record.action for record in parse_file(path)]
        yield source_of(
            path.stem, "duckdb", [a.sql for a in actions if isinstance(a, Statement | Query)]
        )


def _golden_files() -> Iterator[Source]:
    for case in all_cases():
        setup = [s for s in case.setup if isinstance(s, str)]
        dialect = case.options.get("client", "duckdb")
        made = source_of(case.name, "duckdb", setup)
        yield Source(case.name, dialect, (case.statement,), made.catalog)
        yield made


def _pages() -> Iterator[Source]:
    for path in sorted((ROOT / "docs").glob("*.md")):
        blocks = [b.code for part in parts(path) for b in part if b.language == "sql"]
        texts = [t for block in blocks for t in re.split(r";\s*\n", block) if t.strip()]
        # A table of forms shows a statement between two backticks.
        texts += [t for t in re.findall(r"`([^`\n]+)`", path.read_text()) if _BEGINS.match(t)]
        if texts:
            yield source_of(path.name, "duckdb", texts)


def _of_sqlalchemy() -> Iterator[Source]:
    metadata = sa.MetaData()
    parent = sa.Table(
        "parent",
        metadata,
        sa.Column("id", sa.Integer, sa.Identity(always=True), primary_key=True),
        sa.Column("name", sa.String(40), nullable=False, unique=True, server_default="x"),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.func.now()),
        sa.Column("amount", sa.Numeric(9, 2), sa.CheckConstraint("amount > 0")),
    )
    child = sa.Table(
        "child",
        metadata,
        sa.Column("id", sa.BigInteger, sa.Sequence("child_ids"), primary_key=True),
        sa.Column("parent_id", sa.ForeignKey("parent.id", ondelete="CASCADE"), index=True),
        sa.Column("double", sa.Integer, sa.Computed("parent_id * 2")),
        sa.Column("kind", sa.Enum("a", "b", name="kind")),
        sa.Column("body", sa.LargeBinary),
        sa.UniqueConstraint("parent_id", "kind", name="one_of_each"),
        comment="of a parent",
    )
    both = child.join(parent)
    newest = sa.select(sa.func.max(child.c.id)).where(child.c.parent_id == parent.c.id)
    for name, dialect in (
        ("postgres", postgresql.dialect()),
        ("mysql", mysql.dialect()),
        ("duckdb", sqlite.dialect()),
    ):
        statements: list[sa.Executable | sa.schema.ExecutableDDLElement] = [
            *(CreateTable(table) for table in metadata.sorted_tables),
            *(CreateIndex(index) for index in child.indexes),
            sa.insert(parent).values(name="a").returning(parent.c.id)
            if name != "mysql"
            else sa.insert(parent).values(name="a"),
            sa.update(child).values(kind="b").where(child.c.parent_id.in_([1, 2])),
            sa.delete(child).where(sa.exists().where(parent.c.id == child.c.parent_id)),
            sa.select(child, parent.c.name).select_from(both).order_by(sa.desc("kind")).limit(3),
            sa.select(parent, newest.scalar_subquery()).where(parent.c.amount.between(1, 2)),
            sa.select(sa.func.row_number().over(partition_by=child.c.kind, order_by=child.c.id)),
        ]
        texts = [str(s.compile(dialect=dialect)).strip() for s in statements]
        yield source_of(f"sqlalchemy {name}", name, texts)


def _of_folder(folder: Path) -> Iterator[Source]:
    for path in sorted([*folder.rglob("*.sql"), *folder.rglob("*.py")]):
        dialect = next(
            (d for d in ("postgres", "mysql", "spark", "hive") if d in path.stem), "duckdb"
        )
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            nodes = ast.walk(ast.parse(text))
            literals = [n.value for n in nodes if isinstance(n, ast.Constant)]
            texts = [t for t in literals if isinstance(t, str) and _BEGINS.match(t)]
        else:
            texts = [t for t in re.split(r";\s*\n|\n(?=[A-Z])", text) if _BEGINS.match(t)]
        if texts:
            yield Source(path.name, dialect, tuple(texts), CatalogSnapshot.empty(own=OWN_SCHEMA))


def source_of(name: str, dialect: str, texts: list[str]) -> Source:
    """Texts in a dialect, over the tables that they create."""
    catalog = CatalogSnapshot.empty(own=OWN_SCHEMA)
    for number, text in enumerate(texts, 1):
        catalog = _grown(catalog, text, dialect, number)
    return Source(name, dialect, tuple(texts), catalog)


def _grown(catalog: CatalogSnapshot, text: str, dialect: str, number: int) -> CatalogSnapshot:
    """The catalog with what a text creates; what is refused creates nothing, nor does a DROP."""
    if not text.lstrip().upper().startswith("CREATE"):
        return catalog
    context = RewriteContext(
        catalog, plain_scan_info, dialect=dialect, describe=query_columns, new_table_id=number
    )
    try:
        for parsed in parse(text, dialect, DEFAULT_LIMITS):
            if isinstance(parsed.statement, SqlStatement | OwnStatement):
                for step in rewrite_statement(parsed.statement, context).steps:
                    if isinstance(step, Change):
                        catalog = apply(catalog, step.change)
    except PalimpsestError:
        return catalog
    return catalog
