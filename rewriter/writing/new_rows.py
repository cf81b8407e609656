"""The rows an INSERT brings: VALUES, a query or defaults, as the new values of a change set.

Decides for every stored column where its value comes from: the source, its DEFAULT, a generated
number, or an expression over the other columns. Pure: makes a query and the steps before it.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import AllocateIdentity, Query, SkipNumbers, Stage, Step
from journal.model.schema import ROW_ID, Column, Table
from journal.sql.relations import column
from journal.sql.sql import named, relation, select, select_star
from journal.sql.unique_keys import further_keys, unique_keys
from rewriter.definitions.generated_values import check_writable, generated_value
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import position_of
from rewriter.reading.key_lookup import Keys
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import new_name
from rewriter.writing.row_source import RowSource, default_mark, given_name
from rewriter.writing.statement_part import PartNames, staged_relation
from rewriter.writing.target import convert_value, default_value

ORDER = "rn"
"""Staged name of a new row's place in the source."""
_ROW_ID_STRIDE = 1 << 32
"""Row ids set aside for a statement whose number of rows is not known beforehand."""


class NewRows:
    """Builds the query whose rows are an INSERT's new rows, one ``n`` column per stored column."""

    def __init__(
        self,
        reads: Reads,
        table: Table,
        part: PartNames,
        ast: exp.Insert,
        given: list[Column] | None,
    ) -> None:
        self._reads = reads
        self._table = table
        self._part = part
        self._overriding = str(ast.args.get("overriding") or "").upper()
        self._semantics = semantics_of(reads.context.dialect)
        self._batch = reads.context.batch
        self._source = RowSource(reads, table, ast, given)
        check_writable(table, self._source.given)
        self._place = {c.physical: i for i, c in enumerate(self._source.given)}
        self._row = exp.Sub(this=exp.Window(this=exp.RowNumber()), expression=exp.Literal.number(1))
        self.explicit: list[Column] = []
        self.steps: list[Step] = []

    @property
    def row_count(self) -> int | None:
        """How many rows there are, where the statement itself says so."""
        return self._source.row_count

    @property
    def given_columns(self) -> list[Column]:
        """The columns the statement gives values for."""
        return self._source.given

    @property
    def constants(self) -> Keys:
        """The values of the only row that are constants, by physical column."""
        return self._source.constants

    def keys(self) -> Keys | None:
        """The key of the only row, where the statement gives it as constants."""
        constants = self._source.constants
        if self._table.hidden_key or not all(k in constants for k in self._table.key):
            return None
        return {k: constants[k] for k in self._table.key}

    def taken_key_check(self) -> tuple[exp.Expr | None, frozenset[str]]:
        """The condition that the only row's key is there already, and the constraint it is of."""
        keys = self.keys()
        if keys is None or further_keys(self._table) or not self._reads.context.optimistic:
            return None, frozenset()
        (key,) = unique_keys(self._table)
        present = self._reads.relation(self._table, [(exp.Literal.number(1), "taken")], keys)
        return exp.Exists(this=present), frozenset({key.name})

    def query(self, *, ordered: bool = False) -> exp.Select:
        """The rows; ``ordered`` adds their place in the source."""
        rows = self._source.rows
        generated = [c for c in self._table.columns if c.identity is not None]
        if generated and self.row_count is None:
            name = self._part.relation_name("source")
            self.steps.append(Stage(name, Query.of(rows)))
            rows = select_star(staged_relation(name))
        values = {c.physical: self._value(c) for c in self._table.stored}
        outputs: list[exp.Expr] = []
        for index, stored in enumerate(self._table.stored):
            outputs.append(named(values[stored.physical], new_name(index)))
        if ordered:
            outputs.append(named(exp.Window(this=exp.RowNumber()), ORDER))
        return self._with_generated(select(outputs, relation(rows, "r")))

    def _with_generated(self, rows: exp.Select) -> exp.Select:
        """The rows with the values of generated columns."""
        table = self._table
        places = {c.physical: new_name(i) for i, c in enumerate(table.stored)}
        made = {
            places[c.physical]: generated_value(table, c, lambda n: column(places[n], "g"))
            for c in table.columns
            if c.generated is not None
        }
        if not made:
            return rows
        outputs = [named(made.get(n) or column(n, "g"), n) for n in rows.named_selects]
        return select(outputs, relation(rows, "g"))

    def identity_steps(self, stage: str) -> list[Step]:
        """Steps that keep explicitly given numbers from being generated later."""
        found: list[Step] = []
        for stored in self.explicit:
            assert stored.identity is not None
            made = stored.identity
            highest = exp.Max if made.increment > 0 else exp.Min
            value = column(new_name(self._table.columns.index(stored)))
            query = select([highest(this=value)], staged_relation(stage))
            step = SkipNumbers(
                self._table.id,
                made.counted_as(stored.physical),
                made.first,
                made.increment,
                Query.of(query),
            )
            found.append(step)
        return found

    def _value(self, stored: Column) -> exp.Expr:
        place = self._place.get(stored.physical)
        given = None if place is None else column(given_name(place), "r")
        if stored.physical == ROW_ID:
            count = _ROW_ID_STRIDE if self._batch else self.row_count or _ROW_ID_STRIDE
            return self._next_number(
                AllocateIdentity(
                    self._table.id, ROW_ID, self._part.relation_name("row"), count=count
                )
            )
        if stored.identity is not None:
            return self._identity(stored, place, given)
        return convert_value(default_value(stored), stored) if given is None else given

    def _identity(self, stored: Column, place: int | None, given: exp.Expr | None) -> exp.Expr:
        assert stored.identity is not None
        if given is not None and place not in self._source.only_defaults:
            if stored.identity.always and self._overriding == "":
                raise self._generated_always(stored)
            if self._overriding == "USER":
                given = None
            else:
                self.explicit.append(stored)
        else:
            given = None
        mixed = place in self._source.some_defaults
        if given is not None and not mixed and not self._semantics.null_generates:
            return given
        made = convert_value(self._next_number(self._number(stored)), stored)
        if given is None:
            return made
        if self._semantics.null_generates:
            return exp.Coalesce(this=given, expressions=[made])
        assert place is not None
        return exp.Case().when(column(default_mark(place), "r"), made).else_(given)

    def _number(self, stored: Column) -> AllocateIdentity:
        assert stored.identity is not None
        return AllocateIdentity(
            self._table.id,
            stored.identity.counted_as(stored.physical),
            self._part.relation_name(f"first_{self._table.columns.index(stored)}"),
            stored.identity.first,
            stored.identity.increment,
            self._part.relation_name("source") if self.row_count is None else None,
            self.row_count or 0,
        )

    def _next_number(self, number: AllocateIdentity) -> exp.Expr:
        self.steps.append(number)
        offset: exp.Expr = self._row.copy()
        if number.increment != 1:
            step = exp.Literal.number(abs(number.increment))
            factor = exp.Neg(this=step) if number.increment < 0 else step
            offset = exp.Mul(this=exp.paren(offset), expression=exp.paren(factor))
        return exp.Add(this=exp.Placeholder(this=number.name), expression=exp.paren(offset))

    def _generated_always(self, stored: Column) -> PalimpsestError:
        return PalimpsestError(
            Code.GENERATED_COLUMN,
            f'column "{stored.name}" of {self._table.name} is GENERATED ALWAYS',
            advice="leave it out, give DEFAULT, or write OVERRIDING SYSTEM VALUE",
            position=position_of(self._source.expression),
        )
