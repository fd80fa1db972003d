-- Scores, so that a query finds the best: of an attempt, and of a task what it made, with its gain over what the search began with.

ALTER TABLE attempt ADD COLUMN score REAL;
ALTER TABLE attempt ADD COLUMN valid INTEGER;
ALTER TABLE task ADD COLUMN score REAL;
ALTER TABLE task ADD COLUMN valid INTEGER;
ALTER TABLE task ADD COLUMN gain REAL;

-- What is on record already. Where a score says nothing of it, it is valid; where scoring does not, more is better.

UPDATE attempt SET score = json_extract(event.body, '$.score.value'), valid = coalesce(json_extract(event.body, '$.score.valid'), 1)
FROM event
WHERE event.run = attempt.run AND event.number = attempt.end_event AND json_type(event.body, '$.score') = 'object';

UPDATE task SET score = newest.score, valid = newest.valid
FROM (SELECT run, task, max(number) AS number, key, score, valid FROM attempt WHERE valid IS NOT NULL GROUP BY run, task) AS newest
WHERE newest.run = task.run AND newest.task = task.number AND newest.key = task.key AND task.state = 'done';

UPDATE task SET gain = (CASE root.score WHEN 0 THEN task.score ELSE (task.score - root.score) / abs(root.score) END)
    * CASE scoring.direction WHEN 'min' THEN -1 ELSE 1 END
FROM task AS root, (
    SELECT event.run, min(event.number), json_extract(added.value, '$.score.direction') AS direction
    FROM event, json_each(event.body, '$.tasks') AS added
    WHERE event.kind = 'tasks_added' AND json_type(added.value, '$.score') = 'object'
    GROUP BY event.run
) AS scoring, event AS began
WHERE task.valid AND task.score IS NOT NULL
  AND root.run = task.run AND root.id = 'root' AND root.valid AND root.score IS NOT NULL
  AND scoring.run = task.run
  AND began.run = task.run AND began.number = 1 AND coalesce(json_extract(began.body, '$.strategy'), 'plan') <> 'plan';

DROP VIEW tasks;
DROP VIEW attempts;

CREATE VIEW tasks AS
SELECT run.id AS run, task.id AS task, task.number, task.key, task.state, task.description, task.command,
       nullif(task.batch, 0) AS batch, task.lane, task.group_name AS "group", task.priority, task.attempts, task.tries,
       (SELECT sum(wall_s) FROM attempt WHERE attempt.run = task.run AND attempt.task = task.number) AS duration_s,
       task.cost_usd, task.because, task.removed, task.score, task.valid, task.gain
FROM task JOIN run ON run.number = task.run;

CREATE VIEW attempts AS
SELECT run.id AS run, task.id AS task, attempt.number, attempt.state, attempt.key, attempt.retry, attempt.slot,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.queued_at_ms / 1000.0, 'unixepoch')   AS queued_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.started_at_ms / 1000.0, 'unixepoch')  AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.finished_at_ms / 1000.0, 'unixepoch') AS finished_at,
       (attempt.started_at_ms - attempt.queued_at_ms) / 1000.0 AS waited_s,
       attempt.pid, attempt.exit_code, attempt.signal, attempt.wall_s, attempt.cpu_s, attempt.peak_memory_bytes,
       attempt.output_bytes, attempt.dropped_bytes, attempt.cost_usd, attempt.tokens,
       json_extract(attempt.error, '$.type') AS error_type, json_extract(attempt.error, '$.message') AS error_message, attempt.error,
       attempt.score, attempt.valid
FROM attempt
JOIN run ON run.number = attempt.run
JOIN task ON task.run = attempt.run AND task.number = attempt.task;
