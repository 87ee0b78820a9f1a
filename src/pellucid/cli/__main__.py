"""`python -m pellucid.cli` is the command `pellucid`."""

from pellucid.cli import main

main()
