"""Jobs as clients ask for them: kinds, runs and their record, engines, and the schedule."""
