"""What-if: a cluster as it would be after changes that nobody has made yet."""
