"""How others take it when calls go wrong; `function_faults.py` starts it and looks at what is left.

    .venv/bin/python -m benchmarks.fault_peers {hangs,leaves} {pool,pebble,dask,optuna} [FILE]

Tells in one line of JSON what the caller of the calls saw, and stays until it is ended.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import Process
from typing import Any

from benchmarks.bench_target import hang, leave_if
from benchmarks.function_peers import WORKERS, open_study

LIMIT_S = 2.0
CALLS, LEAVES = 100, 19


def outcome(future: Future[object], *, within_s: float = LIMIT_S + 2) -> str:
    """Say in a word how a call ended, as its caller sees it, who does not wait for ever."""
    try:
        future.result(timeout=within_s)
        return "result"
    except BaseException as error:  # whatever it is, that is what the caller gets
        return type(error).__name__


def outcomes(futures: Sequence[Future[object]]) -> dict[str, int]:
    """Count how calls ended."""
    words = [outcome(future, within_s=60) for future in futures]
    return {word: words.count(word) for word in sorted(set(words))}


def pool_hangs(pids: str) -> object:
    """Nothing ends a call but its own end; the caller may stop waiting."""
    return outcome(_open_pool().submit(hang, pids))


def pool_leaves(_: str) -> object:
    """One process less breaks the pool."""
    pool = _open_pool()
    return outcomes([pool.submit(leave_if, number, LEAVES) for number in range(CALLS)])


def _open_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(WORKERS)


def pebble_hangs(pids: str) -> object:
    """A call has a limit."""
    from pebble import ProcessPool

    return outcome(ProcessPool(max_workers=WORKERS).schedule(hang, args=(pids,), timeout=LIMIT_S))


def pebble_leaves(_: str) -> object:
    """A process that is gone is replaced."""
    from pebble import ProcessPool

    pool = ProcessPool(max_workers=WORKERS)
    return outcomes([pool.schedule(leave_if, args=(number, LEAVES)) for number in range(CALLS)])


def dask_hangs(pids: str) -> object:
    """Nothing ends a call but its own end; the caller may cancel what has not begun."""
    future = _client().submit(hang, pids, pure=False)
    word = outcome(future)
    future.cancel()
    return word


def dask_leaves(_: str) -> object:
    """A call whose process is gone is tried again, some times."""
    client = _client()
    return outcomes([client.submit(leave_if, number, LEAVES, pure=False) for number in range(CALLS)])


def _client() -> Any:
    from distributed import Client, LocalCluster

    return Client(LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None))


def optuna_hangs(pids: str) -> object:
    """A study has a limit, which is looked at between two trials."""
    open_study(create=True)
    process = Process(target=_optimize, args=(lambda _trial: hang(pids), 1))
    process.start()
    process.join(LIMIT_S + 2)
    return "no end" if process.is_alive() else "result"


def optuna_leaves(_: str) -> object:
    """Two processes have half of the trials each."""
    open_study(create=True)
    processes = [
        Process(target=_optimize, args=(lambda trial: leave_if(trial.number, LEAVES), CALLS // WORKERS))
        for _ in range(WORKERS)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    states = [trial.state.name for trial in open_study().trials]
    return {state: states.count(state) for state in sorted(set(states))}


def _optimize(objective: Callable[[Any], float | None], trials: int) -> None:
    open_study().optimize(objective, n_trials=trials, timeout=LIMIT_S * 10)


def main() -> None:
    """Let one of them take one of the faults."""
    fault, peer = sys.argv[1:3]
    told = globals()[f"{peer}_{fault}"](sys.argv[3] if len(sys.argv) > 3 else "")
    print(json.dumps(told), flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main()
