"""Home: what the program does, the sample comparisons, and the recent runs."""

from __future__ import annotations

from pages.ui.shared.guard import guard
from pages.ui.shared.home_page import show_home

guard()
show_home()
