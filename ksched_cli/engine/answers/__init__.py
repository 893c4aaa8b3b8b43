"""Answers of plugins that later pods use again. Without this folder every result is the same, and slower."""
