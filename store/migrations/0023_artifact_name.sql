-- An index for finding the files of a run by name.
CREATE INDEX resource_by_iteration_name ON resource (iteration_num, name) WHERE iteration_num IS NOT NULL;
