-- The runs that are running, and those that ended last, are found by these.
CREATE INDEX iteration_running ON iteration (num) WHERE status = 'RUNNING' AND deleted_date IS NULL;
CREATE INDEX iteration_ended ON iteration (end_date) WHERE end_date IS NOT NULL AND deleted_date IS NULL;
