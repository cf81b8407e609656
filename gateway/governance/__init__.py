"""Governance: declared entities, their schedules and instances, events and safe mode."""
