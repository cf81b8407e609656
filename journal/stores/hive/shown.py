"""What a metastore is asked about tables in words that no tree has. Texts only; runs nothing."""

from __future__ import annotations

from sqlglot import exp


def tables_text(database: str) -> str:
    """What lists the tables and views of a database."""
    return f"SHOW TABLES IN {_quoted(database)}"


def partitions_text(database: str, table: str, only: tuple[str, str] | None = None) -> str:
    """What lists a table's partitions, or those with ``only`` one value of a column."""
    text = f"SHOW PARTITIONS {_quoted(database)}.{_quoted(table)}"
    if only is None:
        return text
    column, value = only
    return f"{text} PARTITION ({_quoted(column)} = {_text(value)})"


def refresh_text(database: str, table: str) -> str:
    """What has Spark forget, for its session, which files it saw in a table."""
    return f"REFRESH TABLE {_quoted(database)}.{_quoted(table)}"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _text(value: str) -> str:
    return exp.Literal.string(value).sql(dialect="spark")
