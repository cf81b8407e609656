"""Erasing a person: who is where, what must not be seen, and what may not come back."""
