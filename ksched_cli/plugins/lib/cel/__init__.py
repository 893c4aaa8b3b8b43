"""CEL, as far as device selectors use it."""
