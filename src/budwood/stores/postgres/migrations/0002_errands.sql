-- What the merge queue has done is in no batch: batch 0 in the table, none in the views.

UPDATE task SET batch = 0
FROM event
WHERE event.run = task.run AND event.kind = 'errand_added' AND readable(event.body) -> 'task' ->> 'id' = task.id;

CREATE OR REPLACE VIEW tasks AS
SELECT run.id AS run, task.id AS task, task.number, task.key, task.state, task.description, task.command,
       nullif(task.batch, 0) AS batch, task.lane, task.group_name AS "group", task.priority, task.attempts, task.tries,
       (SELECT sum(wall_s) FROM attempt WHERE attempt.run = task.run AND attempt.task = task.number) AS duration_s,
       task.cost_usd, task.because, task.removed
FROM task JOIN run ON run.number = task.run;

CREATE OR REPLACE VIEW batches AS
SELECT run, batch, tasks, done, failed, shown_time(started_at_ms) AS started_at, shown_time(finished_at_ms) AS finished_at,
       (finished_at_ms - started_at_ms) / 1000.0::double precision AS duration_s, cost_usd
FROM (
    SELECT run.id AS run, worked.batch, count(*) AS tasks, count(*) FILTER (WHERE worked.state = 'done') AS done,
           count(*) FILTER (WHERE worked.state = 'failed') AS failed, min(worked.started_at_ms) AS started_at_ms,
           CASE WHEN count(*) = count(*) FILTER (WHERE worked.state IN ('done', 'failed', 'cancelled', 'skipped'))
                THEN max(worked.finished_at_ms) END AS finished_at_ms,
           sum(worked.cost_usd) AS cost_usd
    FROM worked JOIN run ON run.number = worked.run
    WHERE worked.batch > 0
    GROUP BY run.number, worked.batch
) AS summed;
