"""The demonstration: a year of real flights, changed day by day and looked back upon."""
