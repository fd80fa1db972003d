"""The Python interface: tasks from functions and commands, runs to start, follow and look at.

Stands on `project`, as the command line does, and knows nothing of that. Must not print, and must not touch what
belongs to the program that uses it: its signal handlers, its event loop, its main thread.
"""
