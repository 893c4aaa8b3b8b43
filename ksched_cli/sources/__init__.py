"""Where objects come from: files, archives, a live cluster."""
