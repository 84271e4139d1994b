-- Indexes for finding running runs, and the runs that ended last.
CREATE INDEX iteration_running ON iteration (num) WHERE status = 'RUNNING' AND deleted_date IS NULL;
CREATE INDEX iteration_ended ON iteration (end_date) WHERE end_date IS NOT NULL AND deleted_date IS NULL;
