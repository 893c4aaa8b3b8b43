"""Instance types that a cloud sells: built-in tables, the formulas of the providers, and catalogs in files."""
