"""Blocks: the clusters that a run has found in a relation or network, and the blocks they make."""

from pages.ui.irm.blocks_page import show_blocks
from pages.ui.shared.guard import guard

guard()
show_blocks()
