"""Attempts in workspaces: a directory before they start, what they left kept before their end is told."""

from budwood.engine.workshop.orders import Dependency, Order, make_order
from budwood.engine.workshop.workshop import Workshop

__all__ = ["Dependency", "Order", "Workshop", "make_order"]
