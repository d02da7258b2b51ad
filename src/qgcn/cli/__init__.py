"""The command line."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

__all__ = ["main"]

INVALID = 2
"""Exit code for invalid input, an interruption, and whatever else the user can do something about."""
BUG = 70
"""Exit code for an error of qgcn itself, as in sysexits.h."""
_PAUSE = 0.05
"""Seconds after which an interruption is tried again."""
_TYPERS_INTERRUPT = 130  # what Typer returns, without a word, after Ctrl-C


def main(arguments: list[str] | None = None) -> None:
    """Run the command line.

    Invalid input is reported in one line on stderr, with exit code 2. An error of qgcn itself is reported in one line that
    names a file with its traceback, with exit code 70. SIGTERM is answered as Ctrl-C is, so that no half-written file is left.
    """
    with _signals_answered():
        _run(arguments)


@contextmanager
def _signals_answered() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise ``KeyboardInterrupt`` while a block lasts, unless somebody else has decided about them."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        numbers = [number for number, handler in usual.items() if signal.getsignal(number) == handler]
        before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Raise ``KeyboardInterrupt``; while PyTorch is being imported, later: an exception within its C++ ends the process."""
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    if getattr(spec, "_initializing", False) and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, _PAUSE)
        return
    raise KeyboardInterrupt


def _run(arguments: list[str] | None) -> NoReturn:
    try:
        import typer  # here, so that Ctrl-C is answered while it is being imported
    except KeyboardInterrupt:
        _fail("interrupted")
    try:
        from qgcn.cli.app import build_app  # here too: it imports PyTorch

        given = sys.argv[1:] if arguments is None else arguments
        _check_text(given)
        status = build_app(given)(given, standalone_mode=False)
        if status == _TYPERS_INTERRUPT:
            raise KeyboardInterrupt
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as stop:  # Rich and Typer make the second of the first
        if isinstance(stop, SystemExit) and not isinstance(stop.__context__, BrokenPipeError):
            raise
        # the reader, such as head, has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain at exit
        status = 0
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted")
    except typer.TyperException as error:
        _fail(error.format_message())
    except (ValueError, OSError) as error:
        _fail(str(error))
    except Exception as error:
        if _is_out_of_memory(error):
            _fail("out of memory: try a smaller space or model, --no-batch-seeds, or another device", own=True)
        from qgcn.cli.bugs import describe

        _fail(describe(error), BUG, own=True)
    sys.exit(status or 0)


def _check_text(arguments: list[str]) -> None:
    """Raise unless all arguments are UTF-8: settings that name files are written down."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise ValueError(f"the argument {argument!r} is not UTF-8 text; rename the file") from None


def _is_out_of_memory(error: Exception) -> bool:
    # PyTorch has a class of its own for a GPU, and none for the CPU
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "can't allocate" in str(error)


def _fail(message: str, code: int = INVALID, *, own: bool = False) -> NoReturn:
    """End with a message; of the processes of a machine the first one says it for all, unless the trouble is one's own."""
    from qgcn.cli.escapes import escaped, shortened

    line = shortened(escaped(" ".join(message.split())))
    first = os.environ.get("LOCAL_RANK", "0") == "0" or os.environ.get("WORLD_SIZE", "1") == "1"
    if line and (first or own):  # without arguments the help is shown, and nothing is left to say
        print(f"qgcn: {line}", file=sys.stderr)
    sys.exit(code)
