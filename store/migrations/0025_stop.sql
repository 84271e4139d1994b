-- A request of a person that the script of a run stops: its time, and the id of the user,
-- NULL for the command line. The end of the run removes the request.
ALTER TABLE iteration ADD COLUMN stop_requested INTEGER;
ALTER TABLE iteration ADD COLUMN stop_requested_by TEXT;
