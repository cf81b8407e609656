"""Values that all else is about: schemas, segments, plans, policies, versions, errors."""
