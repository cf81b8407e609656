"""The words of a statement that no parser takes."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from rewriter.lineage.scope import fold
from rewriter.lineage.tables import KnownTables


@dataclass(slots=True)
class Words:
    """The tokens of a statement, read from the left."""

    rest: list[Token]

    def takes(self, *words: str) -> bool:
        """Go on behind these words if they stand here."""
        if [token.text.upper() for token in self.rest[: len(words)]] != list(words):
            return False
        del self.rest[: len(words)]
        return True

    def word(self) -> str:
        """The next word, in lower case; empty at the end."""
        return fold(self.rest.pop(0).text) if self.rest else ""

    def table(self, tables: KnownTables, schema: str = "") -> str:
        """The whole name of the table that is named here; ``schema`` is that of a bare name."""
        self.takes("IF", "EXISTS")
        parts = [self.word()]
        while self.takes("."):
            parts.append(self.word())
        return tables.whole_name([schema, *parts] if schema and len(parts) == 1 else parts)
