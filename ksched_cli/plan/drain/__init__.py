"""What `kubectl drain` would do, round by round, and where the evicted pods go."""
