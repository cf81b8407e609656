"""Transactions over any store: states, conflicts, references, rows in memory, protocols."""
