"""SQL text for SQLAlchemy's expressions: PostgreSQL's, where DuckDB's dialect does not differ."""

from __future__ import annotations

from typing import Any

from sqlalchemy import sql
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects.postgresql.base import PGCompiler


class PalimpsestCompiler(PGCompiler):
    """Statements."""

    def visit_array(self, element: Any, **kw: Any) -> str:
        """A list; an empty one gets its type from where it is used."""
        items = ", ".join(self.process(item, **kw) for item in element.clauses)
        return f"[{items}]"

    def _json_item(self, binary: Any, **kw: Any) -> str:
        left = self.process(binary.left, **kw)
        path = self.process(binary.right, **kw)
        if binary.type._type_affinity is sqltypes.JSON:
            return f"json_extract({left}, {path})"
        text = f"json_extract_string({left}, {path})"
        if binary.type._type_affinity is sqltypes.String:
            return text
        return f"CAST({text} AS {self.dialect.type_compiler_instance.process(binary.type)})"

    def visit_json_getitem_op_binary(
        self, binary: Any, operator: Any, _cast_applied: bool = False, **kw: Any
    ) -> str:
        """``column["name"]``; the path is a parameter."""
        return self._json_item(binary, **kw)

    def visit_json_path_getitem_op_binary(
        self, binary: Any, operator: Any, _cast_applied: bool = False, **kw: Any
    ) -> str:
        """``column[("name", 0)]``."""
        return self._json_item(binary, **kw)

    def _regexp(self, binary: Any, kw: Any) -> str:
        flags = binary.modifiers["flags"]
        arguments = [self.process(binary.left, **kw), self.process(binary.right, **kw)]
        if flags is not None:
            arguments.append(self._text(flags))
        return f"regexp_matches({', '.join(arguments)})"

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Matches anywhere in the text; ``~`` would mean the whole of it."""
        return self._regexp(binary, kw)

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Its negation."""
        return f"NOT {self._regexp(binary, kw)}"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Replaces the first match, all with the flag ``g``."""
        pattern, replacement = binary.right.clauses
        parts = [binary.left, pattern, replacement]
        arguments = [self.process(part, **kw) for part in parts]
        flags = binary.modifiers["flags"]
        if flags is not None:
            arguments.append(self._text(flags))
        return f"regexp_replace({', '.join(arguments)})"

    def visit_bitwise_xor_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """``xor`` is a function."""
        return f"xor({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """LIMIT and OFFSET, each alone or both."""
        text = ""
        if select._limit_clause is not None:
            text += f"\n LIMIT {self.process(select._limit_clause, **kw)}"
        if select._offset_clause is not None:
            text += f"\n OFFSET {self.process(select._offset_clause, **kw)}"
        return text

    def format_from_hint_text(self, sqltext: str, table: Any, hint: str, iscrud: bool) -> str:
        """A hint is a time-travel clause; it stands between the name and its alias."""
        if isinstance(table, sql.expression.Alias):
            alias = self.preparer.format_alias(table, table.name)
            name = sqltext.removesuffix(f" AS {alias}")
            if name != sqltext:
                return f"{name} {hint} AS {alias}"
        return f"{sqltext} {hint}"

    def visit_sequence(self, seq: Any, **kw: Any) -> str:  # type: ignore[override]
        """The next number of a sequence."""
        return f"nextval({literal(self.preparer.format_sequence(seq))})"

    def _text(self, value: str) -> str:
        return literal(value)


def literal(value: str) -> str:
    """A text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"
