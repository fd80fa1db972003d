"""A database as YokeFlow has it, filled with the project of its guide; and what `pg_dump` and `psql` make of it.

Tables and columns are those of its parallel execution, besides what a database has that a reader must pass over: a
function with semicolons in it, a view, a table with a column of every awkward kind.
"""

from tests.support.server import Server

SHOP, OTHER = "7b1c2a9e-0000-4000-8000-000000000001", "7b1c2a9e-0000-4000-8000-000000000002"
ACTION = (
    "Create the tables.\nUse \"uuid\", not 'serial';\n\tkeep C:\\temp\\new and \\N as they are -- all of them; $$ too\n"
)
"""What a dump must write with care."""
SCHEMA = """
CREATE TYPE task_status AS ENUM ('pending', 'completed');
CREATE TABLE projects (id uuid PRIMARY KEY, name varchar(255) UNIQUE NOT NULL, metadata jsonb DEFAULT '{}');
CREATE TABLE epics (
    id serial PRIMARY KEY, project_id uuid NOT NULL REFERENCES projects(id), name varchar(255) NOT NULL,
    status task_status DEFAULT 'pending', depends_on integer[] DEFAULT '{}', UNIQUE (project_id, name),
    CONSTRAINT named CHECK (name <> '(),;')
);
CREATE TABLE tasks (
    id serial PRIMARY KEY, epic_id integer NOT NULL REFERENCES epics(id), project_id uuid NOT NULL,
    description text NOT NULL, action text, priority integer DEFAULT 0, done boolean DEFAULT false,
    created_at timestamptz DEFAULT now(), metadata jsonb DEFAULT '{}'
);
ALTER TABLE tasks ADD COLUMN depends_on integer[] DEFAULT '{}', ADD COLUMN dependency_type varchar(20) DEFAULT 'hard';
CREATE TABLE task_dependencies (
    task_id integer NOT NULL REFERENCES tasks(id), depends_on_task_id integer NOT NULL REFERENCES tasks(id),
    dependency_type varchar(20) DEFAULT 'hard'
);
CREATE TABLE parallel_batches (
    id serial PRIMARY KEY, project_id uuid NOT NULL, batch_number integer NOT NULL,
    status varchar(20) DEFAULT 'pending', task_ids integer[] DEFAULT '{}', UNIQUE (project_id, batch_number)
);
CREATE TABLE worktrees (
    id serial PRIMARY KEY, project_id uuid NOT NULL, epic_id integer NOT NULL, branch_name varchar(255) NOT NULL,
    worktree_path text NOT NULL, status varchar(20) DEFAULT 'active', merge_commit varchar(40)
);
CREATE TABLE "Logs; of all" (id serial, "a ""name"", with all" text);
CREATE VIEW open_tasks AS SELECT id, 'it''s; open' AS told FROM tasks WHERE NOT done;
CREATE FUNCTION touched() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    RAISE NOTICE 'INSERT INTO tasks VALUES (1); ''quoted''';
    RETURN NEW;
END;
$body$;
"""
EPICS = {1: "Backend Infrastructure", 2: "Authentication", 3: "Frontend"}
TASKS: dict[int, tuple[int, str, list[int]]] = {
    1: (1, "Database schema", []),
    2: (1, "Database models", [1]),
    3: (1, "API endpoints", [2]),
    4: (2, "Auth models", [2]),
    5: (2, "Auth endpoints", [3, 4]),
    6: (3, "UI components", []),
    7: (3, "API client", [3]),
}
"""The seven tasks of the guide: epic, description, dependencies."""
BATCHES = [[1, 6], [2], [3, 4], [5, 7]]
FORMS = {
    "copy": (),
    "inserts": ("--inserts",),
    "column inserts": ("--column-inserts", "--data-only"),
    "many rows each": ("--rows-per-insert=3",),
}
"""By name, the ways in which pg_dump writes rows."""


def filled(server: Server, *, others: bool = False) -> str:
    """Make the database; with `others`, it has a second project. Return its name."""
    name = server.create()
    server.ask(SCHEMA, database=name)
    server.ask(_rows(SHOP, "shop", first=0), database=name)
    if others:
        server.ask(_rows(OTHER, "blog", first=100), database=name)
    # The row that was changed last comes last in a dump.
    server.ask("UPDATE tasks SET done = true WHERE id IN (1, 6)", database=name)
    server.ask("""INSERT INTO "Logs; of all" VALUES (1, E'one\\ttwo\\n\\\\.\\nthree')""", database=name)
    return name


def _rows(project: str, name: str, *, first: int) -> str:
    said = [f"INSERT INTO projects VALUES ('{project}', '{name}')"]
    said += [
        f"INSERT INTO epics (id, project_id, name) VALUES ({first + number}, '{project}', '{called}')"
        for number, called in EPICS.items()
    ]
    action = ACTION.replace("'", "''")
    for number, (epic, about, after) in TASKS.items():
        ids = ",".join(str(first + other) for other in after)
        said.append(
            "INSERT INTO tasks (id, epic_id, project_id, description, action, priority, depends_on) VALUES "
            f"({first + number}, {first + epic}, '{project}', '{about}', '{action}', {number * 10}, '{{{ids}}}')"
        )
    said.append(f"INSERT INTO task_dependencies VALUES ({first + 7}, {first + 6}, 'soft')")
    for number, tasks in enumerate(BATCHES, start=1):
        ids = ",".join(str(first + task) for task in tasks)
        said.append(
            "INSERT INTO parallel_batches (project_id, batch_number, status, task_ids) VALUES "
            f"('{project}', {number}, '{'running' if number == 2 else 'pending'}', '{{{ids}}}')"
        )
    worktrees = ((1, "active", "NULL"), (2, "conflict", "NULL"), (3, "merged", "'0123456789abcdef'"))
    for epic, state, commit in worktrees:
        branch = f"epic-{first + epic}-{EPICS[epic].casefold().replace(' ', '-')}"
        said.append(
            "INSERT INTO worktrees (project_id, epic_id, branch_name, worktree_path, status, merge_commit) VALUES "
            f"('{project}', {first + epic}, '{branch}', '.worktrees/{branch}', '{state}', {commit})"
        )
    return ";\n".join(said)


def dumped(server: Server, database: str, *options: str) -> str:
    """Dump it, as a user does."""
    return server.run("pg_dump", "-h", str(server.folder), "-U", "postgres", *options, database)


def as_csv(server: Server, database: str, table: str) -> str:
    """Write one table as CSV, as psql does."""
    copy = f"\\copy {table} to stdout csv header"
    return server.run("psql", "-h", str(server.folder), "-U", "postgres", "-c", copy, database)
