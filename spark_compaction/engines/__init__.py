"""Ways of running a job's units: in this process, in Spark tasks, through JDBC."""
