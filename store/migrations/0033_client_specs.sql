-- The definition of a report or a saved view in the format of the client that made it, as JSON. NULL
-- for records that were made otherwise.
ALTER TABLE report ADD COLUMN client TEXT;
ALTER TABLE experiment_view ADD COLUMN client TEXT;
