"""SQLAlchemy's ORM on an append-only store: models, relationships, an upsert, and the past.

Run it with ``python examples/sqlalchemy_orm.py [URL]``; without a URL the warehouse is temporary.
"""

from __future__ import annotations

import datetime as dt
import sys

from sqlalchemy import ForeignKey, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from gateway.sqlalchemy_dialect import insert


class Base(DeclarativeBase):
    """All models."""


class Team(Base):
    """A team and its people."""

    __tablename__ = "team"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    people: Mapped[list[Person]] = relationship(back_populates="team")


class Person(Base):
    """A person; ``revision`` counts changes and catches lost updates."""

    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    revision: Mapped[int] = mapped_column()
    team: Mapped[Team] = relationship(back_populates="people")
    __mapper_args__ = {"version_id_col": revision}  # noqa: RUF012


engine = create_engine(sys.argv[1] if len(sys.argv) > 1 else "palimpsest://")
Base.metadata.create_all(engine)

with Session(engine) as session:
    session.add(Team(name="compilers", people=[Person(name="Grace"), Person(name="Fran")]))
    session.commit()

moment = dt.datetime.now(dt.UTC)

with Session(engine) as session:
    grace = session.scalars(select(Person).where(Person.name == "Grace")).one()
    grace.name = "Grace Hopper"
    upsert = insert(Team).values(name="compilers").on_conflict_do_nothing(index_elements=["name"])
    session.execute(upsert)
    session.commit()
    print("now: ", sorted(session.scalars(select(Person.name))))

with Session(engine) as session:
    past = session.scalars(select(Person.name), execution_options={"as_of": moment})
    print("then:", sorted(past))
