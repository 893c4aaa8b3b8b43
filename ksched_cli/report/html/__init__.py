"""One self-contained HTML file for each document. How to add a page is in `pages.py`."""
