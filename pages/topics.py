"""Topics: the topics that a run has found in texts, their words and documents."""

from pages.ui.lda.topics_page import show_topics
from pages.ui.shared.guard import guard

guard()
show_topics()
