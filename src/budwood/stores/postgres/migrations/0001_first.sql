-- Times are milliseconds since 1970 (UTC); only a lease's are the server's own. `run` is a run's place in table run; the views at the
-- end show ids and readable times. Rows that change have room on their page for the next version, and no index has a column that
-- changes: so nothing grows by being written again. PostgreSQL has no character NUL: in text it is written "␛0", and "␛" is "␛␛".

CREATE TABLE run (
    number        integer          GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            text             NOT NULL UNIQUE,
    name          text             NOT NULL UNIQUE,
    source        text             NOT NULL,
    state         text             NOT NULL,
    goal          text             NOT NULL DEFAULT '',
    reason        text             NOT NULL DEFAULT '',
    cwd           text             NOT NULL DEFAULT '',
    made_by       text             NOT NULL DEFAULT '',
    seed          bigint           NOT NULL DEFAULT 0,
    slots         bigint           NOT NULL DEFAULT 0,
    created_at_ms bigint           NOT NULL DEFAULT 0,
    updated_at_ms bigint           NOT NULL DEFAULT 0,
    ended_at_ms   bigint,
    last_event    bigint           NOT NULL DEFAULT 0,
    fence         bigint           NOT NULL DEFAULT 0,
    tasks         bigint           NOT NULL DEFAULT 0,
    done          bigint           NOT NULL DEFAULT 0,
    failed        bigint           NOT NULL DEFAULT 0,
    skipped       bigint           NOT NULL DEFAULT 0,
    cancelled     bigint           NOT NULL DEFAULT 0,
    active        bigint           NOT NULL DEFAULT 0,
    attempts      bigint           NOT NULL DEFAULT 0,
    cost_usd      double precision NOT NULL DEFAULT 0,
    tokens        bigint           NOT NULL DEFAULT 0
) WITH (fillfactor = 20);

CREATE TABLE task (
    run         integer          NOT NULL,
    number      bigint           NOT NULL,
    id          text             NOT NULL,
    key         text             NOT NULL,
    state       text             NOT NULL,
    description text             NOT NULL,
    command     text             NOT NULL,
    batch       bigint           NOT NULL,
    lane        text,
    group_name  text,
    priority    bigint           NOT NULL,
    attempts    bigint           NOT NULL,
    tries       bigint           NOT NULL,
    cost_usd    double precision NOT NULL,
    because     text,
    removed     boolean          NOT NULL,
    integers    smallint         NOT NULL, -- which ids are whole numbers in the plan: 1 its own, 2 the lane's, 4 that of `because`
    PRIMARY KEY (run, number)
) WITH (fillfactor = 70);

-- 95, not less: the server takes dead versions off a page that is nine tenths full, and must do so before it is left for the next.
CREATE TABLE attempt (
    run               integer NOT NULL,
    task              bigint  NOT NULL,
    number            bigint  NOT NULL,
    state             text    NOT NULL,
    key               text    NOT NULL,
    retry             bigint  NOT NULL,
    slot              bigint  NOT NULL,
    queued_at_ms      bigint  NOT NULL,
    started_at_ms     bigint,
    finished_at_ms    bigint,
    pid               bigint,
    exit_code         bigint,
    signal            bigint,
    wall_s            double precision,
    cpu_s             double precision,
    peak_memory_bytes bigint,
    output_bytes      bigint,
    dropped_bytes     bigint,
    cost_usd          double precision,
    tokens            bigint,
    error             text, -- JSON: type, message, attempt, max_retries, will_retry, timed_out
    end_event         bigint,
    PRIMARY KEY (run, task, number)
) WITH (fillfactor = 95);

CREATE TABLE dependency (
    run   integer NOT NULL,
    task  bigint  NOT NULL,
    needs bigint  NOT NULL,
    hard  boolean NOT NULL,
    PRIMARY KEY (run, task, needs)
);

CREATE TABLE event (
    run     integer  NOT NULL,
    number  bigint   NOT NULL,
    at_ms   bigint   NOT NULL,
    version smallint NOT NULL,
    kind    text     NOT NULL,
    body    text     NOT NULL, -- JSON, byte by byte as it was written
    PRIMARY KEY (run, number)
);

CREATE TABLE lease (
    run        integer     PRIMARY KEY,
    fence      bigint      NOT NULL DEFAULT 0,
    presence   integer     NOT NULL DEFAULT 0, -- counts the connections that have shown under this fence that the holder is there
    holder     text,                           -- NULL: nobody
    renewed_at timestamptz NOT NULL DEFAULT '-infinity',
    ends_at    timestamptz NOT NULL DEFAULT '-infinity',
    moved_to   text
) WITH (fillfactor = 50);

CREATE TABLE request (
    run    integer NOT NULL,
    number bigint  NOT NULL,
    key    text    NOT NULL,
    kind   text    NOT NULL,
    body   text    NOT NULL,
    state  text    NOT NULL DEFAULT 'pending',
    answer text    NOT NULL DEFAULT '',
    PRIMARY KEY (run, number),
    UNIQUE (run, key)
);

CREATE TABLE log (
    run     integer NOT NULL,
    task    bigint  NOT NULL,
    attempt bigint  NOT NULL,
    size    bigint  NOT NULL, -- of what was printed; where data is shorter, it is compressed with zlib
    data    bytea   NOT NULL,
    PRIMARY KEY (run, task, attempt)
);

ALTER TABLE log ALTER COLUMN data SET STORAGE EXTERNAL; -- it is compressed already

-- Advisory locks and channels are the whole database's, so that their names begin with this schema's own number.

CREATE FUNCTION lock_of(what text) RETURNS bigint LANGUAGE sql STABLE
RETURN hashtextextended(format('budwood %s %s', 'lease'::regclass::oid, what), 0);

CREATE FUNCTION presence_lock(of_run integer, fence bigint, presence integer) RETURNS bigint LANGUAGE sql STABLE
RETURN lock_of(format('presence %s %s %s', of_run, fence, presence));

CREATE FUNCTION channel_of(of_run integer, what text) RETURNS text LANGUAGE sql STABLE
RETURN format('budwood_%s_%s_%s', 'lease'::regclass::oid, of_run, what);

-- Who holds a lease, or BW001; the row stays locked until the transaction ends, so that nobody can take the lease meanwhile.

CREATE FUNCTION hold(of_run integer, with_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM lease WHERE run = of_run AND fence = with_fence AND holder IS NOT NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease is not held' USING ERRCODE = 'BW001';
    END IF;
END $$;

-- One commit, or a part of one, in one message: BW001 if the lease is lost, BW002 if the last event is not `behind`, BW003 if a
-- request does not wait for its answer. Each statement looks anew, so that what another wrote before the lease was ours is seen.

CREATE FUNCTION append(
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
            cost_usd, because, removed, integers)
        SELECT of_run, new.number, new.id #>> '{}', new.key, new.state, new.description, new.command, new.batch, new.lane #>> '{}',
            new."group", new.priority, new.attempts, new.tries, new.cost_usd, new.because #>> '{}', new.removed,
            CASE json_typeof(new.id) WHEN 'number' THEN 1 ELSE 0 END + CASE json_typeof(new.lane) WHEN 'number' THEN 2 ELSE 0 END
            + CASE json_typeof(new.because) WHEN 'number' THEN 4 ELSE 0 END
        FROM json_to_recordset(new_tasks) AS new(
            number bigint, id json, key text, state text, description text, command text, batch bigint, lane json, "group" text,
            priority bigint, attempts bigint, tries bigint, cost_usd double precision, because json, removed boolean)
        ON CONFLICT ON CONSTRAINT task_pkey DO UPDATE SET
            (id, key, state, description, command, batch, lane, group_name, priority, attempts, tries, cost_usd, because, removed,
             integers)
            = (excluded.id, excluded.key, excluded.state, excluded.description, excluded.command, excluded.batch, excluded.lane,
               excluded.group_name, excluded.priority, excluded.attempts, excluded.tries, excluded.cost_usd, excluded.because,
               excluded.removed, excluded.integers);
    END IF;

    IF new_attempts IS NOT NULL THEN
        INSERT INTO attempt (run, task, number, state, key, retry, slot, queued_at_ms, started_at_ms, finished_at_ms, pid, exit_code,
            signal, wall_s, cpu_s, peak_memory_bytes, output_bytes, dropped_bytes, cost_usd, tokens, error, end_event)
        SELECT of_run, new.*
        FROM json_to_recordset(new_attempts) AS new(
            task bigint, number bigint, state text, key text, retry bigint, slot bigint, queued_at_ms bigint, started_at_ms bigint,
            finished_at_ms bigint, pid bigint, exit_code bigint, signal bigint, wall_s double precision, cpu_s double precision,
            peak_memory_bytes bigint, output_bytes bigint, dropped_bytes bigint, cost_usd double precision, tokens bigint,
            error json, end_event bigint)
        ON CONFLICT ON CONSTRAINT attempt_pkey DO UPDATE SET
            (state, key, retry, slot, queued_at_ms, started_at_ms, finished_at_ms, pid, exit_code, signal, wall_s, cpu_s,
             peak_memory_bytes, output_bytes, dropped_bytes, cost_usd, tokens, error, end_event)
            = (excluded.state, excluded.key, excluded.retry, excluded.slot, excluded.queued_at_ms, excluded.started_at_ms,
               excluded.finished_at_ms, excluded.pid, excluded.exit_code, excluded.signal, excluded.wall_s, excluded.cpu_s,
               excluded.peak_memory_bytes, excluded.output_bytes, excluded.dropped_bytes, excluded.cost_usd, excluded.tokens,
               excluded.error, excluded.end_event);
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

-- The views have the names and columns that they have in SQLite.

CREATE FUNCTION shown_time(at_ms bigint) RETURNS text LANGUAGE sql STABLE
RETURN to_char(timestamp 'epoch' + at_ms * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- What JSON may say and PostgreSQL cannot: a NUL, half a surrogate pair. One such event must not break a query over all.

CREATE FUNCTION readable(body text) RETURNS json LANGUAGE sql IMMUTABLE
RETURN CASE WHEN body !~* '\\u(0000|d[89a-f])' THEN body::json ELSE
    regexp_replace(regexp_replace(regexp_replace(body,
        '(?<!\\)((?:\\\\)*)\\u0000', '\1␛0', 'g'),
        '(?<!\\)((?:\\\\)*)\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})', '\1\\ufffd', 'gi'),
        '(?<!\\)((?:\\\\)*)(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}', '\1\\ufffd', 'gi')::json END;

CREATE VIEW runs AS
SELECT id, name, state, goal, reason, source, cwd, made_by, seed, slots,
       CASE WHEN created_at_ms > 0 THEN shown_time(created_at_ms) END AS created_at,
       CASE WHEN updated_at_ms > 0 THEN shown_time(updated_at_ms) END AS updated_at,
       shown_time(ended_at_ms) AS ended_at,
       (coalesce(ended_at_ms, updated_at_ms) - created_at_ms) / 1000.0::double precision AS duration_s,
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
       shown_time(attempt.queued_at_ms) AS queued_at, shown_time(attempt.started_at_ms) AS started_at,
       shown_time(attempt.finished_at_ms) AS finished_at,
       (attempt.started_at_ms - attempt.queued_at_ms) / 1000.0::double precision AS waited_s,
       attempt.pid, attempt.exit_code, attempt.signal, attempt.wall_s, attempt.cpu_s, attempt.peak_memory_bytes,
       attempt.output_bytes, attempt.dropped_bytes, attempt.cost_usd, attempt.tokens,
       attempt.error::json ->> 'type' AS error_type, attempt.error::json ->> 'message' AS error_message, attempt.error::json AS error
FROM attempt
JOIN run ON run.number = attempt.run
JOIN task ON task.run = attempt.run AND task.number = attempt.task;

CREATE VIEW dependencies AS
SELECT run.id AS run, task.id AS task, needed.id AS needs, dependency.hard
FROM dependency
JOIN run ON run.number = dependency.run
JOIN task ON task.run = dependency.run AND task.number = dependency.task
JOIN task AS needed ON needed.run = dependency.run AND needed.number = dependency.needs;

CREATE VIEW events AS
SELECT run.id AS run, event.number, shown_time(event.at_ms) AS at, event.kind, event.version, readable(event.body) AS body
FROM event JOIN run ON run.number = event.run;

CREATE VIEW results AS
SELECT run.id AS run, task.id AS task, attempt.number AS attempt, readable(event.body) -> 'result' AS result,
       attempt.wall_s AS duration_s, attempt.cost_usd
FROM attempt
JOIN run ON run.number = attempt.run
JOIN task ON task.run = attempt.run AND task.number = attempt.task
JOIN event ON event.run = attempt.run AND event.number = attempt.end_event
WHERE attempt.state = 'succeeded';

CREATE VIEW failures AS
SELECT run.id AS run, task.id AS task, attempt.number AS attempt, attempt.error::json ->> 'type' AS error_type,
       attempt.error::json ->> 'message' AS error_message, shown_time(attempt.finished_at_ms) AS finished_at
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
SELECT run, batch, tasks, done, failed, shown_time(started_at_ms) AS started_at, shown_time(finished_at_ms) AS finished_at,
       (finished_at_ms - started_at_ms) / 1000.0::double precision AS duration_s, cost_usd
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
