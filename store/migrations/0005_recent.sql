-- A clustered table is small and fast to read, but a commit of one point to each of twenty series
-- writes to twenty of its pages. Therefore, small writes are appended to recent, and later moved
-- to metric, many points of a series at a time.
--
-- A row counts only if its seq is larger than the moved_seq of its series. Rows that were moved
-- or whose series was deleted remain until all rows before them can also be removed.
CREATE TABLE recent (
    seq         INTEGER PRIMARY KEY,
    series_id   INTEGER NOT NULL,
    step        INTEGER NOT NULL,
    value       REAL,
    recorded_at INTEGER NOT NULL
) STRICT;

-- The statistics of a series cover its points with a seq up to counted_seq. All later points are
-- in recent. Points with a seq up to moved_seq are in metric.
ALTER TABLE series ADD COLUMN counted_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE series ADD COLUMN moved_seq INTEGER NOT NULL DEFAULT 0;

-- Summaries of the points of a series for charts. Cells of level 1 are 2^roll_shift steps wide,
-- and cells of each further level are 16 times as wide as cells of the level below. A row of
-- level n has up to 16 neighbouring cells and covers the steps from block << (roll_shift + 4 * n)
-- on. There is a row for each such range that has points and ends at or before rolled_to. Rows
-- depend only on the points of the series in metric. Both columns are NULL if the series is too
-- short for rollups. The id is series_id << 36, plus level << 32, plus the lower 32 bits of
-- block.
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

-- All points with the names of their metrics, for users who read the file with other tools. The
-- columns are part of the public interface. value is NULL for NaN.
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
