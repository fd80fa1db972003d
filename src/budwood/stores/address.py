"""Addresses of stores, as people write them and as they may be shown: without what is secret.

Knows text only; must not know any database, so that it costs nothing where there is none.
"""

import re

from budwood.errors import UsageError

_SCHEMES = ("postgresql://", "postgres://")
_SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret"})
_LIKE_AN_ADDRESS = re.compile(
    r"""
    \s* [a-z][a-z0-9+.-]* :/        # a scheme: mysql://, postgresql+asyncpg://, postgresql:/
    | \s* postgres\w* (?: : | // )  # its colon or its slashes forgotten
    | .* ://
    | (?: .* [\s;?&] )? (?: ssl )? password \s* =  # pairs of names and values, as libpq and others take them
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def is_postgres(address: str) -> bool:
    """Tell whether this is the address of a PostgreSQL database."""
    return address.startswith(_SCHEMES)


def refuse_misspelt(address: str) -> None:
    """Refuse what is meant as the address of a database and is none, without quoting it: a password may be in it."""
    if not is_postgres(address) and _LIKE_AN_ADDRESS.match(address):
        raise UsageError(
            "what is given as the store looks like the address of a database, and is none that budwood knows",
            hint="give a path, or postgresql://USER@HOST/DATABASE",
        )


def shown(address: str) -> str:
    """Write an address without its passwords; that of a database still leads to it, for who has the password."""
    if not is_postgres(address):
        return address
    rest = address.partition("://")[2]
    # From the last @ on: a password that has one itself is not encoded as it should be, and must not be seen for that.
    who, at, place = rest.rpartition("@")
    place, mark, query = place.partition("?")
    kept = [part for part in query.split("&") if part.partition("=")[0].lower() not in _SECRETS]
    return f"postgresql://{who.partition(':')[0]}{at}{place}{mark if any(kept) else ''}{'&'.join(kept)}"
