"""Data: choose a sample or upload data, see what was read, and set what runs hold out."""

from pages.ui.shared.guard import guard
from pages.ui.upload.data_page import show_data

guard()
show_data()
