"""Changes that would make a pod fit: proposed, tried in the world of the run, and kept if they work."""
