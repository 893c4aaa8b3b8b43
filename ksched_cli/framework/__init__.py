"""The contract between the engine and the plugins; what an author of a plugin may import."""
