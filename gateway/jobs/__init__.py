"""Jobs as clients request them: kinds, runs and their record, engines, and the schedule."""
