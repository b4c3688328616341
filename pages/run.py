"""Run: start methods on the data in use, and watch them converge."""

from pages.ui.running.run_page import show_run
from pages.ui.shared.guard import guard

guard()
show_run()
