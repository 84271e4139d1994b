-- The number of iterations of an experiment that have each parameter and metric name. With it,
-- names can be listed and searched without reading every series and parameter. The triggers below
-- update it. They run when a series or parameter is added or deleted, but not when a point is
-- added.
CREATE TABLE experiment_key (
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    kind          TEXT    NOT NULL CHECK (kind IN ('metric', 'param')),
    key           TEXT    NOT NULL,
    iterations    INTEGER NOT NULL,
    PRIMARY KEY (experiment_id, kind, key)
) STRICT, WITHOUT ROWID;

INSERT INTO experiment_key (experiment_id, kind, key, iterations)
SELECT iteration.experiment_id, 'metric', series.key, count(*)
FROM series
JOIN iteration ON iteration.num = series.iteration_num
GROUP BY 1, 3;

INSERT INTO experiment_key (experiment_id, kind, key, iterations)
SELECT iteration.experiment_id, 'param', parameter.key, count(*)
FROM parameter
JOIN iteration ON iteration.num = parameter.iteration_num
GROUP BY 1, 3;

-- Copies of statistics for searches. The original statistics are stored by iteration, so the
-- statistics of one metric are 4 KiB or more apart. A search reads them for all iterations, so
-- the statistics of searched metrics are copied to search_value, where they are adjacent. The id
-- is the id of the search_key times 2^32, plus the number of the iteration. count is 0 for an
-- iteration without the metric. Only statistics that are not about to change are copied. The
-- triggers delete a copy when its original changes, so copies are never wrong. Copies can be
-- deleted at any time.
CREATE TABLE search_key (
    id  INTEGER PRIMARY KEY,
    key TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TABLE search_value (
    id    INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    last  REAL,
    min   REAL,
    max   REAL,
    mean  REAL
) STRICT;

CREATE TRIGGER series_added AFTER INSERT ON series BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'metric', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + NEW.iteration_num FROM search_key WHERE search_key.key = NEW.key);
END;

CREATE TRIGGER series_changed AFTER UPDATE ON series BEGIN
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + NEW.iteration_num FROM search_key WHERE search_key.key = NEW.key);
END;

-- A series is renamed only by users who write to the file with other tools.
CREATE TRIGGER series_renamed AFTER UPDATE OF key ON series WHEN NEW.key <> OLD.key BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'metric', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num)
    AND kind = 'metric' AND key = OLD.key;
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + OLD.iteration_num FROM search_key WHERE search_key.key = OLD.key);
END;

-- If an iteration is deleted, its series and parameters are deleted after it. The triggers for
-- series and parameters then change no count, because iteration_deleted has already changed all
-- of them.
CREATE TRIGGER series_removed AFTER DELETE ON series BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num)
    AND kind = 'metric' AND key = OLD.key;
    DELETE FROM search_value WHERE id = (
        SELECT (search_key.id << 32) + OLD.iteration_num FROM search_key WHERE search_key.key = OLD.key);
END;

CREATE TRIGGER parameter_added AFTER INSERT ON parameter BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'param', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

CREATE TRIGGER parameter_renamed AFTER UPDATE OF key ON parameter WHEN NEW.key <> OLD.key BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'param', NEW.key, 1 FROM iteration WHERE num = NEW.iteration_num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num)
    AND kind = 'param' AND key = OLD.key;
END;

CREATE TRIGGER parameter_removed AFTER DELETE ON parameter BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num)
    AND kind = 'param' AND key = OLD.key;
END;

CREATE TRIGGER iteration_deleted BEFORE DELETE ON iteration BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'metric' AND key IN (SELECT key FROM series WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'param' AND key IN (SELECT key FROM parameter WHERE iteration_num = OLD.num);
    DELETE FROM search_value WHERE id IN (SELECT (search_key.id << 32) + OLD.num FROM search_key);
END;

CREATE TRIGGER experiment_key_unused AFTER UPDATE OF iterations ON experiment_key WHEN NEW.iterations = 0 BEGIN
    DELETE FROM experiment_key
    WHERE experiment_id = NEW.experiment_id AND kind = NEW.kind AND key = NEW.key;
END;
