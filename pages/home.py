"""Home: what the program does, the sample comparisons, and the recent runs."""

from pages.ui.running.home_page import show_home
from pages.ui.shared.guard import guard

guard()
show_home()
