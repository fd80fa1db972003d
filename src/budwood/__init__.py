"""budwood runs many attempts at once and keeps the best."""

__version__ = "0.1.0"

__all__ = ["__version__"]
