"""Why a request cannot be done, in words."""


class Refusal(Exception):
    """The request cannot be done; the text says why."""
