-- The layout of the charts in a saved view, as JSON. NULL stands for the default layout.
ALTER TABLE experiment_view ADD COLUMN panels TEXT;
