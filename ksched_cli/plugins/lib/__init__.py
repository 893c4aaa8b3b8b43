"""Machinery that more than one plugin uses. Nothing here imports a plugin."""
