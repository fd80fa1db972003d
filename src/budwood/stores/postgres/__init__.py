"""The store of a team: one schema in a PostgreSQL database, for drivers and readers on any number of machines.

Knows the contract and `_core`; must not know machine, engine or command line.
"""

from budwood.stores.postgres.database import has_store
from budwood.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore", "has_store"]
