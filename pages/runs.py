"""Runs: all runs of the workspace, on whatever data, in one list."""

from pages.ui.running.runs_page import show_runs_page
from pages.ui.shared.guard import guard

guard()
show_runs_page()
