"""The one place where the machine meets store and executor. Must not print or read the environment."""
