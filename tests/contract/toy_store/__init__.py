"""A fourth kind of store: journals in one SQLite file, from nothing but the seams.

    text         canonical AST as SQLite's SQL, and the functions that SQLite lacks
    session      one connection: queries, values, relations of a statement
    layout       heads and segments as tables; tiers as queries over them
    journal      transactions, statements, the commit section
    maintenance  compaction and retention over ``SetBasedBackend``

It has no erasure, no backups and no adoption: its ``Maintenance`` lacks them, and nothing else says
so. The registry of URL schemes is all that knows it.
"""

from gateway.opening.schemes import StoreScheme

SCHEME = StoreScheme(
    "tests.contract.toy_store.journal:opened", "tests.contract.toy_store.maintenance:maintenance"
)
