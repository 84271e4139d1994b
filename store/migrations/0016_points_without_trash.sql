-- The view metric_points excludes points of runs in the trash.
DROP VIEW metric_points;

CREATE VIEW metric_points (iteration_id, key, step, value, recorded_at) AS
SELECT iteration.id, series.key, metric.step, metric.value, metric.recorded_at
FROM metric
JOIN series ON series.id = metric.series_id
JOIN iteration ON iteration.num = series.iteration_num
JOIN experiment ON experiment.id = iteration.experiment_id
JOIN project ON project.id = experiment.project_id
WHERE iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL AND project.deleted_date IS NULL
UNION ALL
SELECT iteration.id, series.key, recent.step, recent.value, recent.recorded_at
FROM recent
JOIN series ON series.id = recent.series_id AND series.moved_seq < recent.seq
JOIN iteration ON iteration.num = series.iteration_num
JOIN experiment ON experiment.id = iteration.experiment_id
JOIN project ON project.id = experiment.project_id
WHERE iteration.deleted_date IS NULL AND experiment.deleted_date IS NULL AND project.deleted_date IS NULL;
