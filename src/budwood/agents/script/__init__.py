"""The agent for examples and tests: it follows a small file of steps, does real work, and needs no key.

`python -m budwood.agents.script FILE` is the program that an attempt runs.
"""
