"""Guide: the models, methods, curves and verdicts in plain words."""

from pages.ui.running.guide_page import show_guide
from pages.ui.shared.guard import guard

guard()
show_guide()
