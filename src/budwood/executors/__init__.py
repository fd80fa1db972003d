"""Where attempts run. Each executor keeps the contract in `base`; knows `_core` only."""

from budwood.executors.base import Call, Executor, Loop, Recovered, Sink, Step, Work

__all__ = ["Call", "Executor", "Loop", "Recovered", "Sink", "Step", "Work"]
