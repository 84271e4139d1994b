-- A search that sorts by creation and then by id reads only this index. The rows would be slower
-- to read, because they contain the notes, which can be long.
DROP INDEX iteration_by_experiment;
CREATE INDEX iteration_by_experiment ON iteration (experiment_id, num, deleted_date, created_date, id);
