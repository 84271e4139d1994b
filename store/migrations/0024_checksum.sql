-- The sum, modulo 2^64, of the checksums of the points that are included in the statistics of a
-- series. It shows whether a step, time or value has changed on disk.
ALTER TABLE series ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;

-- Series from earlier versions of the program, whose checksums lack the points that were written
-- before this migration. A server adds these points in the background after it has started.
CREATE TABLE checksum_due (
    series_id INTEGER PRIMARY KEY
) STRICT;

INSERT INTO checksum_due (series_id) SELECT id FROM series;
