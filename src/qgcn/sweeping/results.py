"""What a sweep found: rows of trials, best first, and the files that hold them."""

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from qgcn.files import write_text
from qgcn.sweeping.candidates import Candidate
from qgcn.sweeping.study import CandidateStudy
from qgcn.tasks.ranges import WIDTH

__all__ = ["Row", "best_rows", "rows_of", "write_best", "write_rows", "write_table"]


@dataclass(frozen=True)
class Row:
    """A trial.

    Attributes:
        model: Name of the model.
        space: Name of the space.
        trial: Its number among those of the same model and space.
        state: ``complete``, ``pruned``, ``diverged`` or ``failed``.
        validation: Mean of the scores; ``None`` unless it is complete.
        scores: Best validation score of each seed.
        settings: What was drawn, by name.
        seconds: Time it took.
        epochs: Most epochs of a seed.
        version: Version of qgcn.
        message: Why it failed.
    """

    model: str
    space: str
    trial: int
    state: str
    validation: float | None
    scores: list[float]
    settings: dict[str, Any]
    seconds: float
    epochs: int
    version: str
    message: str

    @property
    def deviation(self) -> float:
        """Standard deviation over seeds; NaN for one seed."""
        return statistics.stdev(self.scores) if len(self.scores) > 1 else math.nan

    @property
    def shown(self) -> str:
        """Score and deviation, in per cent."""
        if self.validation is None:
            return self.state
        spread = "" if math.isnan(self.deviation) else f" ± {100 * self.deviation:.2f}"
        return f"{100 * self.validation:.2f}{spread}"

    @property
    def words(self) -> str:
        """Settings in words."""
        return ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in self.settings.items()
        )


def rows_of(study: CandidateStudy) -> list[Row]:
    """Return the finished trials of a candidate, in the order in which they were begun."""
    rows = []
    for number, trial in enumerate(study.trials()):
        if not trial.state.is_finished():
            continue
        about = trial.user_attrs
        rows.append(
            Row(
                study.candidate.model,
                study.candidate.space,
                number,
                about.get("outcome", "failed"),
                trial.value if about.get("outcome") == "complete" else None,
                about.get("scores", []),
                trial.params,
                about.get("seconds", 0.0),
                about.get("epochs", 0),
                about.get("version", ""),
                about.get("message", ""),
            )
        )
    return rows


def best_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the complete trials, the best first, of equal ones the earlier."""
    complete = [row for row in rows if row.validation is not None]
    return sorted(complete, key=lambda row: (-(row.validation or 0.0), row.trial))


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write one line of JSON for every trial."""
    write_text(path, "".join(json.dumps(asdict(row)) + "\n" for row in rows))


def write_best(path: Path, candidate: Candidate, row: Row, metric: str) -> None:
    """Write the settings of a trial as a file that ``qgcn train TASK --config`` takes."""
    config = candidate.config(row.settings)
    named = {name: getattr(config, name) for name in ("task", "data", "model", "space")}
    drawn = {name: getattr(config, name) for name in ("hidden" if name == WIDTH else name for name in row.settings)}
    values = named | config.model_dump(exclude_defaults=True) | {"seeds": config.seeds} | drawn
    about = (
        f"# chosen on validation: trial {row.trial}, {metric} {row.shown} over {len(row.scores)} seeds, qgcn {row.version}\n"
    )
    write_text(path, about + yaml.safe_dump(values, sort_keys=False))


def write_table(path: Path, title: str, metric: str, rows: Sequence[Row]) -> None:
    """Write a page of Markdown: the best of each model, then all trials, the best first."""
    ranked = best_rows(rows)
    first: dict[tuple[str, str], Row] = {}
    for row in ranked:
        first.setdefault((row.model, row.space), row)
    lines = [f"# {title}", "", f"Scores are {metric} on validation in per cent, mean ± standard deviation over seeds.", ""]
    head = f"| model | space | validation {metric} | of trials | settings |"
    lines += ["## Best of each model", "", head, "| --- | --- | --- | --- | --- |"]
    for (model, space), row in first.items():
        count = sum((each.model, each.space) == (model, space) for each in rows)
        lines.append(f"| {model} | {space} | {row.shown} | {count} | {row.words} |")
    lines += ["", "## All trials", "", f"| rank | model | space | trial | validation {metric} | seconds | settings |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    others = [row for row in rows if row.validation is None]
    for rank, row in enumerate([*ranked, *others], 1):
        place = str(rank) if row.validation is not None else "-"
        lines.append(f"| {place} | {row.model} | {row.space} | {row.trial} | {row.shown} | {row.seconds:.1f} | {row.words} |")
    write_text(path, "\n".join(lines) + "\n")
