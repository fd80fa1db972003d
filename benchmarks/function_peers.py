"""Others' ways to call a function many times in two processes, each with what it is by itself.

    .venv/bin/python -m benchmarks.function_peers {pool,pebble,dask,optuna} CALLS

`functions.py` starts it, in a fresh directory, and takes the time. Every call is handed over by itself, as somebody
does who wants its outcome by itself: nobody's calls are put together by hand. What the calls returned is added up, and
a sum that is wrong is an error.
"""

import sys
from collections.abc import Callable
from multiprocessing import Process
from typing import Any

from benchmarks.bench_target import noop

WORKERS = 2


def run_pool(calls: int) -> int:
    """Submit each call to the standard library's pool."""
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(WORKERS) as pool:
        futures = [pool.submit(noop, number) for number in range(calls)]
        return sum(future.result() for future in futures)


def run_pebble(calls: int) -> int:
    """Schedule each call on pebble's pool."""
    from pebble import ProcessPool

    with ProcessPool(max_workers=WORKERS) as pool:
        futures = [pool.schedule(noop, args=(number,)) for number in range(calls)]
        return sum(future.result() for future in futures)


def run_dask(calls: int) -> int:
    """Map over a local cluster: two processes, one thread in each; `pure=False` gives each call a key of its own."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return int(sum(client.gather(client.map(noop, range(calls), pure=False))))


def run_optuna(calls: int) -> int:
    """Let two processes work off one study that is kept in a journal file; a trial is a call."""
    open_study(create=True)
    processes = [Process(target=_optimize, args=(calls // WORKERS,)) for _ in range(WORKERS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return int(sum(trial.value for trial in open_study().trials))


def _optimize(calls: int) -> None:
    open_study().optimize(lambda trial: noop(trial.number), n_trials=calls)


def open_study(*, create: bool = False) -> Any:
    """Open the study of this directory; each process does that for itself."""
    from optuna import create_study, load_study
    from optuna.logging import WARNING, set_verbosity
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    set_verbosity(WARNING)  # else a line for each trial is measured, too
    return (create_study if create else load_study)(
        study_name="calls", storage=JournalStorage(JournalFileBackend("journal.log"))
    )


PEERS: dict[str, Callable[[int], int]] = {
    "pool": run_pool,
    "pebble": run_pebble,
    "dask": run_dask,
    "optuna": run_optuna,
}


def main() -> None:
    """Run one of them."""
    name, calls = sys.argv[1], int(sys.argv[2])
    total, wanted = PEERS[name](calls), sum(range(calls))
    if total != wanted:
        raise SystemExit(f"{name}: the results add up to {total}, not to {wanted}")


if __name__ == "__main__":
    main()
