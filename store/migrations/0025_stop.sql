-- A request to stop the script of a run: its time, and the id of the user who requested it; NULL
-- for the command line. The request is removed when the run ends.
ALTER TABLE iteration ADD COLUMN stop_requested INTEGER;
ALTER TABLE iteration ADD COLUMN stop_requested_by TEXT;
