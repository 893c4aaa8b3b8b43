"""Results that several commands share: outcomes of pods, nodes as columns, and both as tables of Arrow."""
