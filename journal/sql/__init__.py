"""Relations over journals as SQL trees, dialects, and clauses written in other ones. Pure."""
