-- A clustered table is small and fast to read, but a commit of one point to
-- each of twenty series writes to twenty of its pages. So small writes are
-- appended to recent, and moved from there to metric, many points of a series
-- at a time.
--
-- A row counts only while its seq is above the moved_seq of its series: what is
-- moved, or whose series is gone, is left where it is until all rows before it
-- can go too.
CREATE TABLE recent (
    seq         INTEGER PRIMARY KEY,
    series_id   INTEGER NOT NULL,
    step        INTEGER NOT NULL,
    value       REAL,
    recorded_at INTEGER NOT NULL
) STRICT;

-- The statistics of a series are over its points with a seq up to counted_seq;
-- later ones are all in recent. What had a seq up to moved_seq is in metric.
ALTER TABLE series ADD COLUMN counted_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE series ADD COLUMN moved_seq INTEGER NOT NULL DEFAULT 0;

-- What charts need of the points of a series, in cells of 2^roll_shift steps
-- and in wider ones, each 16 times as wide as those of the level below. A row of
-- level n has up to 16 neighbouring cells of that level, and covers the steps
-- from block << (roll_shift + 4 * n). There is one for each such stretch that has
-- points and ends at rolled_to or before. It is a pure function of the points of
-- the series in metric. Both columns are NULL in a series that is too short to
-- have any. The id is series_id << 36, plus level << 32, plus the lower 32 bits
-- of block.
ALTER TABLE series ADD COLUMN roll_shift INTEGER;
ALTER TABLE series ADD COLUMN rolled_to INTEGER;

CREATE TABLE rollup (
    id    INTEGER PRIMARY KEY,
    cells BLOB    NOT NULL
) STRICT;

DROP TRIGGER series_deleted;

CREATE TRIGGER series_deleted AFTER DELETE ON series BEGIN
    DELETE FROM metric WHERE series_id = OLD.id;
    DELETE FROM metric_moved WHERE series_id = OLD.id;
    DELETE FROM rollup WHERE id BETWEEN OLD.id << 36 AND (OLD.id << 36) + 0xfffffffff AND OLD.id < 1 << 27;
END;

DROP VIEW metric_points;

-- All points by name, for people who read the file with other tools. The
-- columns are part of what the service promises. value is NULL for NaN.
CREATE VIEW metric_points (iteration_id, key, step, value, recorded_at) AS
SELECT iteration.id, series.key, metric.step, metric.value, metric.recorded_at
FROM metric
JOIN series ON series.id = metric.series_id
JOIN iteration ON iteration.num = series.iteration_num
UNION ALL
SELECT iteration.id, series.key, recent.step, recent.value, recent.recorded_at
FROM recent
JOIN series ON series.id = recent.series_id AND series.moved_seq < recent.seq
JOIN iteration ON iteration.num = series.iteration_num;
