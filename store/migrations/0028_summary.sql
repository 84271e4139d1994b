-- Names of the texts in summaries, which are properties of iterations whose keys begin with
-- tracker.summary. (16 characters), are counted like the names of parameters and metrics. The table
-- is made again, because its check does not allow a third kind.
DROP TABLE experiment_key;

CREATE TABLE experiment_key (
    experiment_id TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    kind          TEXT    NOT NULL CHECK (kind IN ('metric', 'param', 'summary')),
    key           TEXT    NOT NULL,
    iterations    INTEGER NOT NULL,
    PRIMARY KEY (experiment_id, kind, key)
) STRICT, WITHOUT ROWID;

INSERT INTO experiment_key (experiment_id, kind, key, iterations)
SELECT iteration.experiment_id, 'metric', series.key, count(*)
FROM series
JOIN iteration ON iteration.num = series.iteration_num AND iteration.deleted_date IS NULL
GROUP BY 1, 3;

INSERT INTO experiment_key (experiment_id, kind, key, iterations)
SELECT iteration.experiment_id, 'param', parameter.key, count(*)
FROM parameter
JOIN iteration ON iteration.num = parameter.iteration_num AND iteration.deleted_date IS NULL
GROUP BY 1, 3;

INSERT INTO experiment_key (experiment_id, kind, key, iterations)
SELECT iteration.experiment_id, 'summary', substr(property.key, 17), count(*)
FROM property
JOIN iteration ON iteration.num = property.iteration_num AND iteration.deleted_date IS NULL
WHERE property.key > 'tracker.summary.' AND property.key < 'tracker.summary/'
GROUP BY 1, 3;

CREATE TRIGGER experiment_key_unused AFTER UPDATE OF iterations ON experiment_key WHEN NEW.iterations = 0 BEGIN
    DELETE FROM experiment_key
    WHERE experiment_id = NEW.experiment_id AND kind = NEW.kind AND key = NEW.key;
END;

CREATE TRIGGER summary_added AFTER INSERT ON property
WHEN NEW.iteration_num IS NOT NULL AND NEW.key > 'tracker.summary.' AND NEW.key < 'tracker.summary/' BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'summary', substr(NEW.key, 17), 1 FROM iteration WHERE num = NEW.iteration_num AND deleted_date IS NULL
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

CREATE TRIGGER summary_removed AFTER DELETE ON property
WHEN OLD.iteration_num IS NOT NULL AND OLD.key > 'tracker.summary.' AND OLD.key < 'tracker.summary/' BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'summary' AND key = substr(OLD.key, 17);
END;

-- A property is renamed only by users who write to the file with other tools.
CREATE TRIGGER summary_renamed AFTER UPDATE OF key ON property WHEN NEW.iteration_num IS NOT NULL AND NEW.key <> OLD.key BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = (SELECT experiment_id FROM iteration WHERE num = OLD.iteration_num AND deleted_date IS NULL)
    AND kind = 'summary' AND key = substr(OLD.key, 17)
    AND OLD.key > 'tracker.summary.' AND OLD.key < 'tracker.summary/';
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT experiment_id, 'summary', substr(NEW.key, 17), 1 FROM iteration
    WHERE num = NEW.iteration_num AND deleted_date IS NULL
    AND NEW.key > 'tracker.summary.' AND NEW.key < 'tracker.summary/'
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

DROP TRIGGER iteration_discarded;
DROP TRIGGER iteration_restored;
DROP TRIGGER iteration_deleted;

CREATE TRIGGER iteration_discarded AFTER UPDATE OF deleted_date ON iteration
WHEN OLD.deleted_date IS NULL AND NEW.deleted_date IS NOT NULL BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'metric' AND key IN (SELECT key FROM series WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'param' AND key IN (SELECT key FROM parameter WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'summary' AND key IN (SELECT substr(key, 17) FROM property
        WHERE iteration_num = OLD.num AND key > 'tracker.summary.' AND key < 'tracker.summary/');
END;

CREATE TRIGGER iteration_restored AFTER UPDATE OF deleted_date ON iteration
WHEN OLD.deleted_date IS NOT NULL AND NEW.deleted_date IS NULL BEGIN
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT NEW.experiment_id, 'metric', key, 1 FROM series WHERE iteration_num = NEW.num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT NEW.experiment_id, 'param', key, 1 FROM parameter WHERE iteration_num = NEW.num
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
    INSERT INTO experiment_key (experiment_id, kind, key, iterations)
    SELECT NEW.experiment_id, 'summary', substr(key, 17), 1 FROM property
    WHERE iteration_num = NEW.num AND key > 'tracker.summary.' AND key < 'tracker.summary/'
    ON CONFLICT DO UPDATE SET iterations = iterations + 1;
END;

CREATE TRIGGER iteration_deleted BEFORE DELETE ON iteration WHEN OLD.deleted_date IS NULL BEGIN
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'metric' AND key IN (SELECT key FROM series WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'param' AND key IN (SELECT key FROM parameter WHERE iteration_num = OLD.num);
    UPDATE experiment_key SET iterations = iterations - 1
    WHERE experiment_id = OLD.experiment_id
    AND kind = 'summary' AND key IN (SELECT substr(key, 17) FROM property
        WHERE iteration_num = OLD.num AND key > 'tracker.summary.' AND key < 'tracker.summary/');
END;
