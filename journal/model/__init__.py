"""Values of all layers: schemas, segments, plans, policies, versions, errors."""
