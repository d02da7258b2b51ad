"""Options that name the columns of a table of edges."""

from typing import Annotated

import typer

__all__ = ["Source", "Target", "Weight"]

_WHERE = "in a table of edges"

Source = Annotated[
    str | None, typer.Option(help=f"Column of the source {_WHERE}: its name, or number from 1.", metavar="COLUMN")
]
Target = Annotated[str | None, typer.Option(help=f"Column of the target {_WHERE}.", metavar="COLUMN")]
Weight = Annotated[str | None, typer.Option(help=f"Column of the weight {_WHERE}.", metavar="COLUMN")]
