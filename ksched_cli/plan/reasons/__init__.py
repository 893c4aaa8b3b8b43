"""Reasons."""
