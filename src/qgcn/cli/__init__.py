"""The command line."""

import sys
from typing import Annotated, NoReturn

import typer

from qgcn.cli.datasets import datasets
from qgcn.cli.demo import demo
from qgcn.cli.train import resume, train

__all__ = ["app", "main"]

app = typer.Typer(
    help="Graph learning in pseudo-Riemannian spaces.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(datasets)
app.add_typer(train, name="train")
app.command()(resume)


def _show_version(wanted: bool) -> None:
    if wanted:
        from qgcn import __version__

        typer.echo(f"qgcn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Graph learning in pseudo-Riemannian spaces."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: what a user gave wrong is answered with one line on stderr and exit code 2."""
    try:
        status = app(arguments, standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted")
    except typer.TyperException as error:
        _fail(error.format_message())
    except (ValueError, TypeError, OSError) as error:
        _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        _fail("out of memory: try a smaller space or model, --no-batch-seeds, or another device")
    sys.exit(status or 0)


def _is_out_of_memory(error: Exception) -> bool:
    # PyTorch has a class of its own for a GPU, and none for the CPU
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "can't allocate" in str(error)


def _fail(message: str) -> NoReturn:
    line = " ".join(message.split())
    if line:  # without arguments the help is shown, and nothing is left to say
        print(f"qgcn: {line}", file=sys.stderr)
    sys.exit(2)
