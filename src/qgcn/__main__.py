"""Run the command line as ``python -m qgcn``."""

from qgcn.cli import main

main()
