"""Governance as declared: what runs when over which data, and in which state it is."""
