"""Guide: the models, methods, curves and verdicts in plain words."""

from __future__ import annotations

from pages.ui.shared.guard import guard
from pages.ui.shared.guide_page import show_guide

guard()
show_guide()
