"""How many topics: the same runs with several numbers of topics, and their measures."""

from pages.ui.lda.how_many_page import show_how_many
from pages.ui.shared.guard import guard

guard()
show_how_many()
