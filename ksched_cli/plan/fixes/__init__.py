"""The smallest changes that make a pod fit, proposed from its rejections. Each is tried before it is reported."""
