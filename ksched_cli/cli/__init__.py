"""One file per command: parse, wire, run, print, exit."""
