"""The pure middle: a statement's AST and a catalog snapshot in, a ``StatementPlan`` out.

Nothing here knows a driver, a clock, randomness or a file; importing it loads none of them.
"""
