"""One folder, several programs: the process that has a warehouse open serves the others."""
