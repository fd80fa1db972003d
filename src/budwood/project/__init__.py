"""A project on this machine: the one layer that reads the environment, the home directory and the user's files.

The command line and the Python interface stand on it. Must not print.
"""
