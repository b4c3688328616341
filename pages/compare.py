"""Compare: several runs side by side, in curves, scores and answers."""

from __future__ import annotations

from pages.ui.running.compare_page import show_compare
from pages.ui.shared.guard import guard

guard()
show_compare()
