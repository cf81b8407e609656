"""Statements of our own, one a module: how each is read, who may run it, and what its plan is."""
