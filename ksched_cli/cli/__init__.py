"""One file per command: parse the options, run, print, exit."""
