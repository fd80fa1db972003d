"""Addresses of stores, as people write them and as they may be shown: without what is secret.

Knows text only; must not know any database, so that it costs nothing where there is none.
"""

_SCHEMES = ("postgresql://", "postgres://")
_SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret"})


def is_postgres(address: str) -> bool:
    """Tell whether this is the address of a PostgreSQL database."""
    return address.startswith(_SCHEMES)


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
