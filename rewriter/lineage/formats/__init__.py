"""A lineage graph as text for other programs: drawings, and files that graph databases load."""
