"""A model as an agent: one chat call to an OpenAI-compatible endpoint, its answer applied to the workspace.

`python -m budwood.agents.model` is the program that an attempt runs.
"""
