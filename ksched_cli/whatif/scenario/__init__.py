"""Scenario files: steps of edits, and what is expected after each."""
