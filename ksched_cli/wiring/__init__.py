"""The composition root: the only place where sources, plugins and the engine meet."""
