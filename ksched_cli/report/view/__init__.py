"""The document and the View of each result: one file for each command. How to add one is in `report/registry.py`."""
