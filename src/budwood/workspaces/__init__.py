"""Directories in which attempts work, each for itself, and what they left there."""

from budwood.workspaces.base import Workspace, Workspaces
from budwood.workspaces.clone import Clone
from budwood.workspaces.copy import Copy, open_kept
from budwood.workspaces.keeping import Kept, LeftOut
from budwood.workspaces.pool import Pool
from budwood.workspaces.repository import Repository, find_repository
from budwood.workspaces.setup import Setup
from budwood.workspaces.worktree import Worktree

__all__ = [
    "Clone",
    "Copy",
    "Kept",
    "LeftOut",
    "Pool",
    "Repository",
    "Setup",
    "Workspace",
    "Workspaces",
    "Worktree",
    "find_repository",
    "open_kept",
]
