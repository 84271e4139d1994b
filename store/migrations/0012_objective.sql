-- The objective by which the runs of an experiment are compared: "minimize val/loss", "maximize
-- accuracy", "none", or '' if it is guessed from the names of the metrics.
ALTER TABLE experiment ADD COLUMN objective TEXT NOT NULL DEFAULT '';
