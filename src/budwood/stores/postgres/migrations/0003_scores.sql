-- Scores, so that a query finds the best: of an attempt, and of a task what it made, with its gain over what the search began with.

ALTER TABLE attempt ADD COLUMN score double precision, ADD COLUMN valid boolean;
ALTER TABLE task ADD COLUMN score double precision, ADD COLUMN valid boolean, ADD COLUMN gain double precision;

-- What is on record already. Where a score says nothing of it, it is valid; where scoring does not, more is better.

UPDATE attempt SET score = (scored.score ->> 'value')::double precision, valid = coalesce((scored.score ->> 'valid')::boolean, true)
FROM (SELECT run, number, readable(body) -> 'score' AS score FROM event WHERE kind = 'attempt_ended') AS scored
WHERE scored.run = attempt.run AND scored.number = attempt.end_event AND json_typeof(scored.score) = 'object';

UPDATE task SET score = newest.score, valid = newest.valid
FROM (
    SELECT DISTINCT ON (run, task) run, task, key, score, valid FROM attempt
    WHERE valid IS NOT NULL ORDER BY run, task, number DESC
) AS newest
WHERE newest.run = task.run AND newest.task = task.number AND newest.key = task.key AND task.state = 'done';

UPDATE task SET gain = (CASE root.score WHEN 0 THEN task.score ELSE (task.score - root.score) / abs(root.score) END)
    * CASE scoring.direction WHEN 'min' THEN -1 ELSE 1 END
FROM task AS root, (
    SELECT DISTINCT ON (event.run) event.run, added -> 'score' ->> 'direction' AS direction
    FROM event, json_array_elements(readable(event.body) -> 'tasks') AS added
    WHERE event.kind = 'tasks_added' AND json_typeof(added -> 'score') = 'object'
    ORDER BY event.run, event.number
) AS scoring, event AS began
WHERE task.valid AND task.score IS NOT NULL
  AND root.run = task.run AND root.id = 'root' AND root.valid AND root.score IS NOT NULL
  AND scoring.run = task.run
  AND began.run = task.run AND began.number = 1 AND coalesce(readable(began.body) ->> 'strategy', 'plan') <> 'plan';

CREATE OR REPLACE FUNCTION append(
    of_run integer, with_fence bigint, behind bigint, new_events json, new_run json, new_tasks json, new_attempts json,
    gone_dependencies bigint[], new_dependencies json, log_places json, log_data bytea[], answers json
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    last bigint;
    given record;
BEGIN
    PERFORM hold(of_run, with_fence);
    SELECT coalesce(max(number), 0) INTO last FROM event WHERE run = of_run;
    IF last <> behind THEN
        RAISE EXCEPTION 'the last event is another' USING ERRCODE = 'BW002', DETAIL = last::text;
    END IF;

    INSERT INTO event (run, number, at_ms, kind, version, body)
    SELECT of_run, new.number, new.at_ms, new.kind, new.version, new.body
    FROM json_to_recordset(new_events) AS new(number bigint, at_ms bigint, kind text, version smallint, body text);

    UPDATE run SET
        (state, goal, reason, cwd, made_by, seed, slots, created_at_ms, updated_at_ms, ended_at_ms, last_event, fence, tasks, done,
         failed, skipped, cancelled, active, attempts, cost_usd, tokens)
        = (SELECT new.* FROM json_to_record(new_run) AS new(
            state text, goal text, reason text, cwd text, made_by text, seed bigint, slots bigint, created_at_ms bigint,
            updated_at_ms bigint, ended_at_ms bigint, last_event bigint, fence bigint, tasks bigint, done bigint, failed bigint,
            skipped bigint, cancelled bigint, active bigint, attempts bigint, cost_usd double precision, tokens bigint))
    WHERE run.number = of_run;

    IF new_tasks IS NOT NULL THEN
        INSERT INTO task (run, number, id, key, state, description, command, batch, lane, group_name, priority, attempts, tries,
            cost_usd, because, removed, score, valid, gain, integers)
        SELECT of_run, new.number, new.id #>> '{}', new.key, new.state, new.description, new.command, new.batch, new.lane #>> '{}',
            new."group", new.priority, new.attempts, new.tries, new.cost_usd, new.because #>> '{}', new.removed,
            new.score, new.valid, new.gain,
            CASE json_typeof(new.id) WHEN 'number' THEN 1 ELSE 0 END + CASE json_typeof(new.lane) WHEN 'number' THEN 2 ELSE 0 END
            + CASE json_typeof(new.because) WHEN 'number' THEN 4 ELSE 0 END
        FROM json_to_recordset(new_tasks) AS new(
            number bigint, id json, key text, state text, description text, command text, batch bigint, lane json, "group" text,
            priority bigint, attempts bigint, tries bigint, cost_usd double precision, because json, removed boolean,
            score double precision, valid boolean, gain double precision)
        ON CONFLICT ON CONSTRAINT task_pkey DO UPDATE SET
            (id, key, state, description, command, batch, lane, group_name, priority, attempts, tries, cost_usd, because, removed,
             score, valid, gain, integers)
            = (excluded.id, excluded.key, excluded.state, excluded.description, excluded.command, excluded.batch, excluded.lane,
               excluded.group_name, excluded.priority, excluded.attempts, excluded.tries, excluded.cost_usd, excluded.because,
               excluded.removed, excluded.score, excluded.valid, excluded.gain, excluded.integers);
    END IF;

    IF new_attempts IS NOT NULL THEN
        INSERT INTO attempt (run, task, number, state, key, retry, slot, queued_at_ms, started_at_ms, finished_at_ms, pid, exit_code,
            signal, wall_s, cpu_s, peak_memory_bytes, output_bytes, dropped_bytes, cost_usd, tokens, error, end_event, score,
            valid)
        SELECT of_run, new.*
        FROM json_to_recordset(new_attempts) AS new(
            task bigint, number bigint, state text, key text, retry bigint, slot bigint, queued_at_ms bigint, started_at_ms bigint,
            finished_at_ms bigint, pid bigint, exit_code bigint, signal bigint, wall_s double precision, cpu_s double precision,
            peak_memory_bytes bigint, output_bytes bigint, dropped_bytes bigint, cost_usd double precision, tokens bigint,
            error json, end_event bigint, score double precision, valid boolean)
        ON CONFLICT ON CONSTRAINT attempt_pkey DO UPDATE SET
            (state, key, retry, slot, queued_at_ms, started_at_ms, finished_at_ms, pid, exit_code, signal, wall_s, cpu_s,
             peak_memory_bytes, output_bytes, dropped_bytes, cost_usd, tokens, error, end_event, score, valid)
            = (excluded.state, excluded.key, excluded.retry, excluded.slot, excluded.queued_at_ms, excluded.started_at_ms,
               excluded.finished_at_ms, excluded.pid, excluded.exit_code, excluded.signal, excluded.wall_s, excluded.cpu_s,
               excluded.peak_memory_bytes, excluded.output_bytes, excluded.dropped_bytes, excluded.cost_usd, excluded.tokens,
               excluded.error, excluded.end_event, excluded.score, excluded.valid);
    END IF;

    IF gone_dependencies IS NOT NULL THEN
        DELETE FROM dependency WHERE run = of_run AND task = ANY (gone_dependencies);
    END IF;

    IF new_dependencies IS NOT NULL THEN
        INSERT INTO dependency (run, task, needs, hard)
        SELECT of_run, new.* FROM json_to_recordset(new_dependencies) AS new(task bigint, needs bigint, hard boolean)
        ON CONFLICT ON CONSTRAINT dependency_pkey DO UPDATE SET hard = excluded.hard;
    END IF;

    IF log_places IS NOT NULL THEN
        INSERT INTO log (run, task, attempt, size, data)
        SELECT of_run, new.task, new.attempt, new.size, log_data[new.place]
        FROM json_to_recordset(log_places) AS new(task bigint, attempt bigint, size bigint, place integer)
        ON CONFLICT ON CONSTRAINT log_pkey DO UPDATE SET size = excluded.size, data = excluded.data;
    END IF;

    FOR given IN SELECT new.* FROM json_to_recordset(answers) AS new(request bigint, state text, text text) LOOP
        UPDATE request SET state = given.state, answer = given.text
        WHERE run = of_run AND number = given.request AND request.state = 'pending';
        IF NOT FOUND THEN
            RAISE EXCEPTION 'a request does not wait' USING ERRCODE = 'BW003', DETAIL = given.request::text;
        END IF;
    END LOOP;

    -- Who follows a run shares this lock. A notification for nobody is not sent: while it is sent, no other commit of the whole
    -- server that sends one can end.
    IF NOT pg_try_advisory_xact_lock(lock_of(format('followed %s', of_run))) THEN
        PERFORM pg_notify(channel_of(of_run, 'written'), '');
    END IF;
END $$;

CREATE OR REPLACE VIEW tasks AS
SELECT run.id AS run, task.id AS task, task.number, task.key, task.state, task.description, task.command,
       nullif(task.batch, 0) AS batch, task.lane, task.group_name AS "group", task.priority, task.attempts, task.tries,
       (SELECT sum(wall_s) FROM attempt WHERE attempt.run = task.run AND attempt.task = task.number) AS duration_s,
       task.cost_usd, task.because, task.removed, task.score, task.valid, task.gain
FROM task JOIN run ON run.number = task.run;

CREATE OR REPLACE VIEW attempts AS
SELECT run.id AS run, task.id AS task, attempt.number, attempt.state, attempt.key, attempt.retry, attempt.slot,
       shown_time(attempt.queued_at_ms) AS queued_at, shown_time(attempt.started_at_ms) AS started_at,
       shown_time(attempt.finished_at_ms) AS finished_at,
       (attempt.started_at_ms - attempt.queued_at_ms) / 1000.0::double precision AS waited_s,
       attempt.pid, attempt.exit_code, attempt.signal, attempt.wall_s, attempt.cpu_s, attempt.peak_memory_bytes,
       attempt.output_bytes, attempt.dropped_bytes, attempt.cost_usd, attempt.tokens,
       attempt.error::json ->> 'type' AS error_type, attempt.error::json ->> 'message' AS error_message, attempt.error::json AS error,
       attempt.score, attempt.valid
FROM attempt
JOIN run ON run.number = attempt.run
JOIN task ON task.run = attempt.run AND task.number = attempt.task;
