"""Features: the features that a run has found in a table, their meaning and objects."""

from pages.ui.lfm.features_page import show_features
from pages.ui.shared.guard import guard

guard()
show_features()
