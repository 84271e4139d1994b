-- Delete all rollups, so that they are computed again. Programs with the same schema have written
-- them in two encodings.
DELETE FROM rollup;
UPDATE series SET roll_shift = NULL, rolled_to = NULL WHERE rolled_to IS NOT NULL;

-- The series whose rollups are then computed in the background.
CREATE INDEX series_without_rollups ON series (id) WHERE rolled_to IS NULL AND count >= 512;
