-- A search that sorts by creation, then id, reads the index alone: the rows have the
-- notes, which can be long.
DROP INDEX iteration_by_experiment;
CREATE INDEX iteration_by_experiment ON iteration (experiment_id, num, deleted_date, created_date, id);
