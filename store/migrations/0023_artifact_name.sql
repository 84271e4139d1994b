-- Files of a run are found by their names.
CREATE INDEX resource_by_iteration_name ON resource (iteration_num, name) WHERE iteration_num IS NOT NULL;
