def version() -> str:
    """Return the version of this extension, which is that of the Python package it was built with."""
