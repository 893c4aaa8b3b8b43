"""`python -m ksched_cli`."""

from ksched_cli.cli.main import main

main()
