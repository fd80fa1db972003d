"""What performs an attempt: the contract of agents (`base`), and adapters of the programs that can be one.

Knows `_core`; must not know executors, stores or what a run is for. Adapters are imported when they are asked for, and
nothing here: the agents that come with budwood are programs of this package, which start for every attempt.
"""
