"""Random programs that repeat their statements: the same text, or one that differs in values alone.

A statement that comes again may run by a plan, a template or rows that were kept from before. So
each shape of a statement is run several times, with other values, as literals and as parameters, on
several connections, and with definitions and transactions in between that make stale what is kept.
"""
