"""The smallest changes that make a pod fit: thought of from its rejections, and each tried before it is told."""
