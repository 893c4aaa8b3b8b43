"""A cluster without the names in it: pseudonyms that keep every relation that scheduling looks at."""
