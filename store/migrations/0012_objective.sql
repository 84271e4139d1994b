-- What the runs of an experiment are judged by: "minimize val/loss", "maximize accuracy",
-- "none", or '' where it follows from the names of the metrics.
ALTER TABLE experiment ADD COLUMN objective TEXT NOT NULL DEFAULT '';
