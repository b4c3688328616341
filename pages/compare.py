"""Compare: several runs side by side, in curves, scores and answers."""

from pages.ui.running.compare_page import show_compare
from pages.ui.shared.guard import guard

guard()
show_compare()
