-- The sum, modulo 2^64, of the checksums of the points in the statistics of a series. It
-- shows whether a step, time or value has changed on the disk.
ALTER TABLE series ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;

-- The series of files of earlier versions. Their checksums lack the points that were
-- written before. A server adds these in the background after its start.
CREATE TABLE checksum_due (
    series_id INTEGER PRIMARY KEY
) STRICT;

INSERT INTO checksum_due (series_id) SELECT id FROM series;
