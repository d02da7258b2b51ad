"""What is written down while a run goes on."""

import json
from pathlib import Path

from qgcn.files import write_text
from qgcn.training.loop import Progress

__all__ = ["MetricsLog"]


class MetricsLog:
    """The file of metrics, one JSON object a line; on resuming, what came after the checkpoint is dropped.

    Args:
        path: The file.
        seeds: The group that is in training.
        epoch: Where it starts.
    """

    def __init__(self, path: Path, seeds: list[int], epoch: int) -> None:
        self.path = path
        self.seeds = seeds
        kept = []
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            try:
                entry = json.loads(line)
                if entry["seed"] not in seeds or entry["epoch"] <= epoch:
                    kept.append(line)
            except (ValueError, TypeError, KeyError):
                continue  # the line that was being written when the run was killed
        write_text(path, "".join(f"{line}\n" for line in kept))

    def write(self, progress: Progress) -> None:
        """Append a line for each seed that was still in training."""
        rows = zip(self.seeds, progress.loss, progress.score, progress.best, progress.active, strict=True)
        lines = [
            json.dumps({"seed": seed, "epoch": progress.epoch, "loss": loss, "score": score, "best": best})
            for seed, loss, score, best, active in rows
            if active
        ]
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
