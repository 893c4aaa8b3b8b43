"""The run of every command: input, options, world, trials, copies of the process, draws, and `coverage`."""
