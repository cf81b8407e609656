"""The demonstration: a year of real flights, replayed day by day, and queries of its past."""
