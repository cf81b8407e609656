"""Governance over HTTP: entities, events, safe mode and what follows, for programs and curl."""
