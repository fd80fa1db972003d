-- Which batch a task is in, and where a function's result is found: in the event that ended its attempt.

ALTER TABLE task ADD COLUMN batch INTEGER NOT NULL DEFAULT 1;
ALTER TABLE attempt ADD COLUMN end_event INTEGER;

-- The views have the names and columns that they have in PostgreSQL.

DROP VIEW runs;
DROP VIEW tasks;
DROP VIEW attempts;

CREATE VIEW runs AS
SELECT id, name, state, goal, reason, source, cwd, made_by, seed, slots,
       CASE WHEN created_at_ms > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', created_at_ms / 1000.0, 'unixepoch') END AS created_at,
       CASE WHEN updated_at_ms > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', updated_at_ms / 1000.0, 'unixepoch') END AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', ended_at_ms / 1000.0, 'unixepoch') AS ended_at,
       (coalesce(ended_at_ms, updated_at_ms) - created_at_ms) / 1000.0 AS duration_s,
       last_event, tasks, done, failed, skipped, cancelled, active, attempts, cost_usd, tokens,
       (SELECT moved_to FROM lease WHERE lease.run = run.number) AS moved_to
FROM run;

CREATE VIEW tasks AS
SELECT run.id AS run, task.id AS task, task.number, task.key, task.state, task.description, task.command, task.batch, task.lane,
       task.group_name AS "group", task.priority, task.attempts, task.tries,
       (SELECT sum(wall_s) FROM attempt WHERE attempt.run = task.run AND attempt.task = task.number) AS duration_s,
       task.cost_usd, task.because, task.removed
FROM task JOIN run ON run.number = task.run;

CREATE VIEW attempts AS
SELECT run.id AS run, task.id AS task, attempt.number, attempt.state, attempt.key, attempt.retry, attempt.slot,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.queued_at_ms / 1000.0, 'unixepoch')   AS queued_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.started_at_ms / 1000.0, 'unixepoch')  AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.finished_at_ms / 1000.0, 'unixepoch') AS finished_at,
       (attempt.started_at_ms - attempt.queued_at_ms) / 1000.0 AS waited_s,
       attempt.pid, attempt.exit_code, attempt.signal, attempt.wall_s, attempt.cpu_s, attempt.peak_memory_bytes,
       attempt.output_bytes, attempt.dropped_bytes, attempt.cost_usd, attempt.tokens,
       json_extract(attempt.error, '$.type') AS error_type, json_extract(attempt.error, '$.message') AS error_message, attempt.error
FROM attempt
JOIN run ON run.number = attempt.run
JOIN task ON task.run = attempt.run AND task.number = attempt.task;

-- A result is JSON as it was written: of two paths json_extract makes an array, "[…,null]", without reading what is in it.
CREATE VIEW results AS
SELECT run, task, attempt, CASE WHEN is_there THEN substr(pair, 2, length(pair) - 7) END AS result, duration_s, cost_usd
FROM (
    SELECT run.id AS run, task.id AS task, attempt.number AS attempt, json_type(event.body, '$.result') IS NOT NULL AS is_there,
           json_extract(event.body, '$.result', '$.nothing') AS pair, attempt.wall_s AS duration_s, attempt.cost_usd
    FROM attempt
    JOIN run ON run.number = attempt.run
    JOIN task ON task.run = attempt.run AND task.number = attempt.task
    JOIN event ON event.run = attempt.run AND event.number = attempt.end_event
    WHERE attempt.state = 'succeeded'
) AS ended;

CREATE VIEW failures AS
SELECT run.id AS run, task.id AS task, attempt.number AS attempt, json_extract(attempt.error, '$.type') AS error_type,
       json_extract(attempt.error, '$.message') AS error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.finished_at_ms / 1000.0, 'unixepoch') AS finished_at
FROM attempt
JOIN run ON run.number = attempt.run
JOIN task ON task.run = attempt.run AND task.number = attempt.task
WHERE attempt.error IS NOT NULL;

-- What a task's attempts come to, for the two views that sum tasks up.
CREATE VIEW worked AS
SELECT task.run, task.number, task.batch, task.lane, task.state, task.cost_usd, min(attempt.started_at_ms) AS started_at_ms,
       max(attempt.finished_at_ms) AS finished_at_ms, sum(attempt.wall_s) AS wall_s
FROM task LEFT JOIN attempt ON attempt.run = task.run AND attempt.task = task.number
WHERE NOT task.removed
GROUP BY task.run, task.number;

CREATE VIEW batches AS
SELECT run, batch, tasks, done, failed, strftime('%Y-%m-%dT%H:%M:%fZ', started_at_ms / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at_ms / 1000.0, 'unixepoch') AS finished_at,
       (finished_at_ms - started_at_ms) / 1000.0 AS duration_s, cost_usd
FROM (
    SELECT run.id AS run, worked.batch, count(*) AS tasks, count(*) FILTER (WHERE worked.state = 'done') AS done,
           count(*) FILTER (WHERE worked.state = 'failed') AS failed, min(worked.started_at_ms) AS started_at_ms,
           CASE WHEN count(*) = count(*) FILTER (WHERE worked.state IN ('done', 'failed', 'cancelled', 'skipped'))
                THEN max(worked.finished_at_ms) END AS finished_at_ms,
           sum(worked.cost_usd) AS cost_usd
    FROM worked JOIN run ON run.number = worked.run
    GROUP BY run.number, worked.batch
) AS summed;

CREATE VIEW lanes AS
SELECT run.id AS run, worked.lane, count(*) AS tasks, count(*) FILTER (WHERE worked.state = 'done') AS done,
       count(*) FILTER (WHERE worked.state = 'failed') AS failed, count(*) FILTER (WHERE worked.state = 'skipped') AS skipped,
       sum(worked.wall_s) AS duration_s, sum(worked.cost_usd) AS cost_usd
FROM worked JOIN run ON run.number = worked.run
WHERE worked.lane IS NOT NULL
GROUP BY run.number, worked.lane;
