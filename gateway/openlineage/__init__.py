"""OpenLineage: events of statements, made with the classes of its official client."""
