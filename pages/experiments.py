"""Experiments: several methods and settings over the same splits, with tests of their differences."""

from pages.ui.running.experiments_page import show_experiments_page
from pages.ui.shared.guard import guard

guard()
show_experiments_page()
