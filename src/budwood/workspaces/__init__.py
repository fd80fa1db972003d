"""Directories in which attempts work, each for itself, and what they left there."""

from budwood.workspaces.base import Workspace, Workspaces
from budwood.workspaces.bring import Outfit
from budwood.workspaces.clone import Clone
from budwood.workspaces.copy import Copy, open_kept
from budwood.workspaces.folding import find_kept
from budwood.workspaces.gc import Left, Removable, Stock, apply_gc, plan_gc, take_stock
from budwood.workspaces.keeping import Kept, LeftOut
from budwood.workspaces.pool import Pool
from budwood.workspaces.repository import Repository, find_repository
from budwood.workspaces.setup import Setup
from budwood.workspaces.worktree import Worktree

__all__ = [
    "Clone",
    "Copy",
    "Kept",
    "Left",
    "LeftOut",
    "Outfit",
    "Pool",
    "Removable",
    "Repository",
    "Setup",
    "Stock",
    "Workspace",
    "Workspaces",
    "Worktree",
    "apply_gc",
    "find_kept",
    "find_repository",
    "open_kept",
    "plan_gc",
    "take_stock",
]
