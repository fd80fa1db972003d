-- Times are milliseconds since 1970 (UTC). `run` is a run's place in table run; the views at the end show ids and readable times.
-- Tables whose key is several numbers have no rowid: one b-tree instead of two. Ids keep their type (ANY): 7 and '7' differ.

CREATE TABLE run (
    number        INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    name          TEXT    NOT NULL UNIQUE,
    source        TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    goal          TEXT    NOT NULL DEFAULT '',
    reason        TEXT    NOT NULL DEFAULT '',
    cwd           TEXT    NOT NULL DEFAULT '',
    made_by       TEXT    NOT NULL DEFAULT '',
    seed          INTEGER NOT NULL DEFAULT 0,
    slots         INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL DEFAULT 0,
    updated_at_ms INTEGER NOT NULL DEFAULT 0,
    ended_at_ms   INTEGER,
    last_event    INTEGER NOT NULL DEFAULT 0,
    fence         INTEGER NOT NULL DEFAULT 0,
    tasks         INTEGER NOT NULL DEFAULT 0,
    done          INTEGER NOT NULL DEFAULT 0,
    failed        INTEGER NOT NULL DEFAULT 0,
    skipped       INTEGER NOT NULL DEFAULT 0,
    cancelled     INTEGER NOT NULL DEFAULT 0,
    active        INTEGER NOT NULL DEFAULT 0,
    attempts      INTEGER NOT NULL DEFAULT 0,
    cost_usd      REAL    NOT NULL DEFAULT 0,
    tokens        INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE task (
    run         INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    id          ANY     NOT NULL,
    key         TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    description TEXT    NOT NULL,
    command     TEXT    NOT NULL,
    lane        ANY,
    group_name  TEXT,
    priority    INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    tries       INTEGER NOT NULL,
    cost_usd    REAL    NOT NULL,
    because     ANY,
    removed     INTEGER NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
    run               INTEGER NOT NULL,
    task              INTEGER NOT NULL,
    number            INTEGER NOT NULL,
    state             TEXT    NOT NULL,
    key               TEXT    NOT NULL,
    retry             INTEGER NOT NULL,
    slot              INTEGER NOT NULL,
    queued_at_ms      INTEGER NOT NULL,
    started_at_ms     INTEGER,
    finished_at_ms    INTEGER,
    pid               INTEGER,
    exit_code         INTEGER,
    signal            INTEGER,
    wall_s            REAL,
    cpu_s             REAL,
    peak_memory_bytes INTEGER,
    output_bytes      INTEGER,
    dropped_bytes     INTEGER,
    cost_usd          REAL,
    tokens            INTEGER,
    error             TEXT, -- JSON: type, message, attempt, max_retries, will_retry, timed_out
    PRIMARY KEY (run, task, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE dependency (
    run   INTEGER NOT NULL,
    task  INTEGER NOT NULL,
    needs INTEGER NOT NULL,
    hard  INTEGER NOT NULL,
    PRIMARY KEY (run, task, needs)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    run     INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL, -- JSON
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
    run      INTEGER PRIMARY KEY,
    fence    INTEGER NOT NULL,
    holder   TEXT    NOT NULL,
    moved_to TEXT
) STRICT;

CREATE TABLE request (
    run    INTEGER NOT NULL,
    number INTEGER NOT NULL,
    key    TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    body   TEXT    NOT NULL,
    state  TEXT    NOT NULL DEFAULT 'pending',
    answer TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (run, number),
    UNIQUE (run, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE log (
    run     INTEGER NOT NULL,
    task    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    size    INTEGER NOT NULL, -- of what was printed; where data is shorter, it is compressed with zlib
    data    BLOB    NOT NULL,
    PRIMARY KEY (run, task, attempt)
) STRICT, WITHOUT ROWID;

CREATE VIEW runs AS
SELECT id, name, state, goal, reason, source, cwd, made_by, seed, slots,
       CASE WHEN created_at_ms > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', created_at_ms / 1000.0, 'unixepoch') END AS created_at,
       CASE WHEN updated_at_ms > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', updated_at_ms / 1000.0, 'unixepoch') END AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', ended_at_ms / 1000.0, 'unixepoch') AS ended_at,
       last_event, tasks, done, failed, skipped, cancelled, active, attempts, cost_usd, tokens,
       (SELECT moved_to FROM lease WHERE lease.run = run.number) AS moved_to
FROM run;

CREATE VIEW tasks AS
SELECT run.id AS run, task.id AS task, task.number, task.key, task.state, task.description, task.command, task.lane,
       task.group_name AS "group", task.priority, task.attempts, task.tries, task.cost_usd, task.because, task.removed
FROM task JOIN run ON run.number = task.run;

CREATE VIEW attempts AS
SELECT run.id AS run, task.id AS task, attempt.number, attempt.state, attempt.key, attempt.retry, attempt.slot,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.queued_at_ms / 1000.0, 'unixepoch')   AS queued_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.started_at_ms / 1000.0, 'unixepoch')  AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', attempt.finished_at_ms / 1000.0, 'unixepoch') AS finished_at,
       attempt.pid, attempt.exit_code, attempt.signal, attempt.wall_s, attempt.cpu_s, attempt.peak_memory_bytes,
       attempt.output_bytes, attempt.dropped_bytes, attempt.cost_usd, attempt.tokens,
       json_extract(attempt.error, '$.type') AS error_type, json_extract(attempt.error, '$.message') AS error_message, attempt.error
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
SELECT run.id AS run, event.number, strftime('%Y-%m-%dT%H:%M:%fZ', event.at_ms / 1000.0, 'unixepoch') AS at,
       event.kind, event.version, event.body
FROM event JOIN run ON run.number = event.run;
