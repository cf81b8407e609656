"""Relations over journals as SQL trees, dialects, and lowering of clauses. Pure."""
