"""Progress of long work: one callback for training, trials, measurements and the report."""

from typing import Protocol

__all__ = ["Progress", "silent"]


class Progress(Protocol):
    """Progress callback.

    One stage is one bar on a terminal; a new name begins a new bar.
    """

    def __call__(self, stage: str, done: int = 0, total: int = 0, note: str = "") -> None:
        """Report progress.

        Args:
            stage: Name of the work, the same from its beginning to its end.
            done: Number of steps done.
            total: Number of all steps; 0 if it is not known.
            note: Detail that changes from call to call, such as a loss.
        """


def silent(stage: str, done: int = 0, total: int = 0, note: str = "") -> None:
    """Report nothing."""
