"""SQL/JSON paths of PostgreSQL in DuckDB's SQL, for stores that lack them.

``parse`` reads a path into ``nodes``; ``steps`` and ``predicates`` make SQL of these, of pieces in
``items`` and ``numbers``; ``calls`` puts it in the place of a function or an operator.
"""
