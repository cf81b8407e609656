"""SQLAlchemy's ORM as people use it: relationships, flushes, savepoints, versions, the past."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import registry
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship

from gateway.sqlalchemy_dialect import insert

registry.register("palimpsest", "gateway.sqlalchemy_dialect", "PalimpsestDialect")


class Base(orm.DeclarativeBase):
    """All models of this module."""


class Mood(enum.Enum):
    """A native ENUM column."""

    calm = "calm"
    cross = "cross"


class Author(Base):
    """Writes books; ``revision`` is the optimistic lock."""

    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), unique=True)
    revision: Mapped[int] = mapped_column()
    books: Mapped[list[Book]] = relationship(back_populates="author", cascade="all, delete-orphan")
    __mapper_args__ = {"version_id_col": revision}  # noqa: RUF012


class Book(Base):
    """A column of every type."""

    __tablename__ = "book"
    id: Mapped[int] = mapped_column(primary_key=True)
    author_id: Mapped[int] = mapped_column(sa.ForeignKey("author.id"), index=True)
    title: Mapped[str]
    price: Mapped[Decimal | None] = mapped_column(sa.Numeric(10, 2))
    key: Mapped[uuid.UUID] = mapped_column(default=uuid.uuid4)
    tags: Mapped[Any] = mapped_column(sa.ARRAY(sa.String), default=list)
    facts: Mapped[Any] = mapped_column(sa.JSON, default=dict)
    cover: Mapped[bytes | None]
    mood: Mapped[Mood | None] = mapped_column(sa.Enum(Mood))
    lent_for: Mapped[dt.timedelta | None]
    printed: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    author: Mapped[Author] = relationship(back_populates="books")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    """An engine with the two tables."""
    made = sa.create_engine(f"palimpsest:///{tmp_path / 'warehouse'}")
    Base.metadata.create_all(made)
    yield made
    made.dispose()


@pytest.fixture
def shelf(engine: sa.Engine) -> sa.Engine:
    """Two authors, three books."""
    with Session(engine) as session:
        ada = Author(name="Ada", books=[Book(title="Notes"), Book(title="Letters")])
        session.add_all([ada, Author(name="Bob", books=[Book(title="Songs")])])
        session.commit()
    return engine


def test_objects_get_their_keys_and_relationships(shelf: sa.Engine) -> None:
    with Session(shelf) as session:
        ada = session.scalars(sa.select(Author).where(Author.name == "Ada")).one()
        assert sorted(book.title for book in ada.books) == ["Letters", "Notes"]
        assert len({book.id for book in ada.books}) == 2
        query = sa.select(Author).options(orm.selectinload(Author.books)).order_by(Author.name)
        assert [len(author.books) for author in session.scalars(query)] == [2, 1]
        joined = sa.select(Author.name, sa.func.count()).join(Author.books).group_by(Author.name)
        assert dict(tuple(row) for row in session.execute(joined)) == {"Ada": 2, "Bob": 1}


def test_the_orm_changes_rows_and_cascades_deletes(shelf: sa.Engine) -> None:
    with Session(shelf) as session:
        ada = session.scalars(sa.select(Author).where(Author.name == "Ada")).one()
        ada.name = "Ada L."
        ada.books.pop()
        session.flush()
        assert ada.revision == 2
        session.delete(session.scalars(sa.select(Author).where(Author.name == "Bob")).one())
        session.commit()
        assert session.scalar(sa.select(sa.func.count()).select_from(Book)) == 1
        session.execute(sa.delete(Book))
        session.rollback()
        assert session.scalar(sa.select(sa.func.count()).select_from(Book)) == 1


def test_nested_transactions(shelf: sa.Engine) -> None:
    with Session(shelf) as session:
        session.add(Author(name="Cyd"))
        session.flush()
        with pytest.raises(sa.exc.IntegrityError), session.begin_nested():
            session.execute(sa.insert(Author).values(name="Cyd", revision=1))
        with session.begin_nested():
            session.add(Author(name="Dot"))
        session.commit()
        names = session.scalars(sa.select(Author.name).order_by(Author.name)).all()
        assert names == ["Ada", "Bob", "Cyd", "Dot"]


def test_every_type_there_and_back(shelf: sa.Engine) -> None:
    key = uuid.uuid4()
    moment = dt.datetime(2026, 2, 28, 12, 0, tzinfo=dt.UTC)
    values = {
        "title": "All", "price": Decimal("12.50"), "key": key, "tags": ["a", "b"],
        "facts": {"pages": [1, 2], "none": None}, "cover": b"\x00\xff", "mood": Mood.cross,
        "lent_for": dt.timedelta(days=2, seconds=3), "printed": moment,
    }  # fmt: skip
    with Session(shelf) as session:
        author = session.scalars(sa.select(Author)).first()
        session.add(Book(author=author, **values))
        session.commit()
    with Session(shelf) as session:
        found = session.scalars(sa.select(Book).where(Book.key == key)).one()
        assert {name: getattr(found, name) for name in values} == values
        assert session.scalars(sa.select(Book.id).where(Book.mood == Mood.cross)).all() == [
            found.id
        ]
        pages = sa.select(Book.facts["pages"][1].as_integer()).where(Book.key == key)
        assert session.scalar(pages) == 2


def test_bulk_inserts_and_merge(shelf: sa.Engine) -> None:
    with Session(shelf) as session:
        rows = [{"name": f"n{i}", "revision": 1} for i in range(500)]
        returned = sa.insert(Author).returning(Author.id, Author.name, sort_by_parameter_order=True)
        found = session.execute(returned, rows).all()
        assert [name for _, name in found] == [row["name"] for row in rows]
        assert len({number for number, _ in found}) == 500
        session.execute(sa.insert(Author), [{"name": f"m{i}", "revision": 1} for i in range(500)])
        merged = session.merge(Author(id=found[0].id, name="merged"))
        session.commit()
        assert session.get_one(Author, merged.id).name == "merged"
        assert session.scalar(sa.select(sa.func.count()).select_from(Author)) == 1002


def test_a_stale_object_is_noticed(shelf: sa.Engine) -> None:
    with Session(shelf) as first, Session(shelf) as second:
        query = sa.select(Author).where(Author.name == "Ada")
        one, two = first.scalars(query).one(), second.scalars(query).one()
        two_id = two.id
        one.name = "first"
        first.commit()
        second.rollback()
        update = sa.update(Author).where(Author.id == two_id, Author.revision == 1)
        assert second.execute(update.values(name="second")).rowcount == 0  # type: ignore[attr-defined]


def test_concurrent_changes_conflict(shelf: sa.Engine) -> None:
    with Session(shelf) as first, Session(shelf) as second:
        query = sa.select(Author).where(Author.name == "Ada")
        first.scalars(query).one().name = "first"
        second.scalars(query).one().name = "second"
        first.commit()
        with pytest.raises(sa.exc.OperationalError) as caught:
            second.commit()
        assert caught.value.orig.sqlstate == "40001"  # type: ignore[union-attr]


def test_upsert(shelf: sa.Engine) -> None:
    with Session(shelf) as session:
        statement = insert(Author).values(
            [{"name": "Ada", "revision": 9}, {"name": "Eve", "revision": 1}]
        )
        statement = statement.on_conflict_do_update(
            index_elements=["name"], set_={"revision": statement.excluded.revision}
        )
        session.execute(statement)
        ignored = insert(Author).values(name="Bob", revision=7).on_conflict_do_nothing()
        session.execute(ignored)
        session.commit()
        rows = session.execute(sa.select(Author.name, Author.revision))
        assert dict(tuple(row) for row in rows) == {"Ada": 9, "Bob": 1, "Eve": 1}


def test_reading_the_past(shelf: sa.Engine) -> None:
    with shelf.connect() as connection:
        version = connection.scalar(sa.text("SELECT max(version_number) FROM author_journal"))
    with Session(shelf) as session:
        session.execute(sa.update(Author).where(Author.name == "Ada").values(name="Ada L."))
        session.commit()
    names = sa.select(Author.name).order_by(Author.name)
    with Session(shelf) as session:
        assert session.scalars(names).all() == ["Ada L.", "Bob"]
        option = {"as_of": version}
        assert session.scalars(names, execution_options=option).all() == ["Ada", "Bob"]
        assert session.scalars(names).all() == ["Ada L.", "Bob"]
        clause = f"FOR SYSTEM_TIME AS OF TIMESTAMP '{version}'"
        hinted = names.with_hint(Author, clause, "palimpsest")
        assert session.scalars(hinted).all() == ["Ada", "Bob"]
        lives = sa.text("SELECT name FROM author FOR SYSTEM_TIME ALL WHERE id = 1")
        assert sorted(session.scalars(lives)) == ["Ada", "Ada L."]
    with shelf.connect().execution_options(as_of=version) as connection:
        assert connection.scalars(names).all() == ["Ada", "Bob"]


def test_reflection(shelf: sa.Engine) -> None:
    found = sa.MetaData()
    found.reflect(shelf)
    book = found.tables["book"]
    assert set(found.tables) == {"author", "book"}
    assert [column.name for column in book.primary_key] == ["id"]
    assert isinstance(book.c.key.type, sa.UUID)
    assert isinstance(book.c.tags.type, sa.ARRAY)
    assert isinstance(book.c.mood.type, sa.Enum)
    assert book.c.mood.type.enums == ["calm", "cross"]
    assert not book.c.title.nullable
    assert sa.inspect(shelf).get_unique_constraints("author")[0]["column_names"] == ["name"]


def test_materialized_views_are_reflected(shelf: sa.Engine) -> None:
    with shelf.begin() as connection:
        connection.execute(sa.text("CREATE MATERIALIZED VIEW kept AS SELECT name FROM author"))
    inspector = sa.inspect(shelf)
    assert inspector.get_materialized_view_names() == ["kept"]
    assert "kept" not in {*inspector.get_table_names(), *inspector.get_view_names()}
    assert [c["name"] for c in inspector.get_columns("kept")] == ["name"]
    assert "author" in inspector.get_view_definition("kept")
    with shelf.begin() as connection:
        connection.execute(sa.text("DROP MATERIALIZED VIEW kept"))


def test_engines_without_a_path_have_a_warehouse_of_their_own() -> None:
    one, two = sa.create_engine("palimpsest://"), sa.create_engine("palimpsest://")
    with one.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (a INTEGER)"))
    with one.connect() as first, one.connect() as second:
        assert sa.inspect(first).has_table("t")
        assert sa.inspect(second).has_table("t")
    assert not sa.inspect(two).has_table("t")
    one.dispose()
    two.dispose()


def test_indexes_are_made_and_dropped(engine: sa.Engine) -> None:
    table = sa.Table("item", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True))
    table.append_column(sa.Column("code", sa.String))
    table.append_column(sa.Column("shelf", sa.String, index=True))
    unique = sa.Index("item_code", table.c.code, unique=True)
    table.create(engine)
    found = {i["name"]: i["unique"] for i in sa.inspect(engine).get_indexes("item")}
    assert found == {"item_code": True, "ix_item_shelf": False}
    with engine.begin() as connection:
        connection.execute(sa.insert(table), [{"code": "a"}, {"code": "b"}])
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.execute(sa.insert(table), {"code": "a"})
    unique.drop(engine)
    with engine.begin() as connection:
        connection.execute(sa.insert(table), {"code": "a"})
