"""The terminal: output that files cannot steer, and progress."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rich.console
from rich.console import ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.markup import escape
from rich.progress import BarColumn, ProgressColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.progress import Task as Bar
from rich.segment import Segment
from rich.text import Text

from qgcn.cli.escapes import escaped

__all__ = ["Console", "ProgressBars", "progress_bars"]


class Console(rich.console.Console):
    """A console of rich that shows control characters of names, labels and paths instead of obeying them.

    Args:
        options: As for :class:`rich.console.Console`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.push_render_hook(_EscapeAll())


class _EscapeAll(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Escaped(each) for each in renderables]


class _Escaped:
    """Something to be shown, its control characters written out; those of rich itself are kept."""

    def __init__(self, content: ConsoleRenderable) -> None:
        self._content = content

    def __rich_console__(self, console: rich.console.Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._content, options):
            yield Segment(text if control else escaped(text), style, control)


class ProgressBars:
    """Show :class:`qgcn.progress.Progress` as one bar, that of the stage in progress.

    A new stage replaces the previous one. The bar disappears at the end, and nothing is written where there is no
    terminal: lasting output is printed by the command.

    Args:
        bars: Progress bars of rich.
    """

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._stage: str | None = None
        self._bar = TaskID(0)

    def __call__(self, stage: str, done: int = 0, total: int = 0, note: str = "") -> None:
        """Report progress; see :class:`qgcn.progress.Progress`."""
        if stage != self._stage:
            if self._stage is not None:
                self._bars.remove_task(self._bar)
            self._stage, self._bar = stage, self._bars.add_task(escape(escaped(stage)), total=None)
        text = escape(escaped(f"{stage}: {note}" if note else stage))
        self._bars.update(self._bar, completed=done, total=total or None, description=text)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the bar away while something else is on the terminal, such as a question."""
        self._bars.stop()
        try:
            yield
        finally:
            self._bars.start()


@contextmanager
def progress_bars(console: Console) -> Iterator[ProgressBars]:
    """Show progress on a console while something is done.

    Example:
        >>> from rich.console import Console
        >>> with progress_bars(Console()) as progress:
        ...     progress("delta", 10, 20)
    """
    columns = (TextColumn("{task.description}"), BarColumn(), _Count(), TimeElapsedColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, disable=not console.is_terminal, transient=True) as bars:
        yield ProgressBars(bars)


class _Count(ProgressColumn):
    """Column with the number of steps done and the total; empty if the total is unknown."""

    def render(self, task: Bar) -> Text:
        return Text("" if task.total is None else f"{task.completed:,.0f}/{task.total:,.0f}", style="progress.download")
