"""The folder of a run: which file holds what, written by one run and read by everything that asks about it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from torch import Tensor

from qgcn.data.store import load_graph, save_graph
from qgcn.embedding import Embedding, load_embedding, write_embedding
from qgcn.files import create_folder, load_tensors, number, read_json, save_tensors, write_atomically, write_json, write_text
from qgcn.tasks.config import Config, read_config
from qgcn.training.metrics_log import Curve, MetricsLog, read_curves

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["RunFolder"]

_FOLDERS = ("checkpoints", "weights", "embeddings")
_FILES = ("config.yaml", "environment.json", "metrics.jsonl", "graph.npz", "split.safetensors")


class RunFolder:
    """The files of a run.

    =========================  ============================================================================
    ``config.yaml``            all settings
    ``graph.npz``              the graph, so that a run needs no other file
    ``split.safetensors``      what was drawn or read once beside it, such as the held-out links
    ``environment.json``       versions, machine, number of threads; those it was resumed with, if others
    ``metrics.jsonl``          one line for each validation of each seed
    ``checkpoints/``           the state of each group of seeds, safetensors
    ``weights/``               the best parameters of each seed, safetensors
    ``embeddings/``            the best embedding of each seed, with node ids, npz
    ``results.json``           the scores of each seed, mean and deviation, and of yardsticks; written last
    =========================  ============================================================================

    Args:
        path: The folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def holds_run(self) -> bool:
        """Whether there is a run."""
        return (self.path / "config.yaml").exists()

    @property
    def finished(self) -> bool:
        """Whether the results are there."""
        return (self.path / "results.json").is_file()

    # --- begin -------------------------------------------------------------------------------------------------------

    def check_free(self) -> None:
        """Raise unless a new run can begin here."""
        if self.holds_run:
            raise FileExistsError(f"{self} holds a run already; resume it (qgcn resume {self}) or choose another folder")
        if self.path.is_dir() and any(self.path.iterdir()):
            raise FileExistsError(f"{self} is not empty; choose another folder")

    def begin(self, config: Config, data: "Data", split: dict[str, Tensor]) -> Callable[[], None]:
        """Create the folder and write what is known before training; return a function that takes that back.

        A folder that holds the run already is kept as it is, and not taken back.
        """
        fresh = not self.holds_run
        created = create_folder(self.path)
        if fresh:
            self._claim()
        for name in _FOLDERS:
            (self.path / name).mkdir(exist_ok=True)
            for left in (self.path / name).glob(f".*.{'[0-9a-f]' * 16}"):  # by a process that was killed while it wrote
                left.unlink(missing_ok=True)
        if not fresh:
            return lambda: None
        try:
            write_atomically(self.path / "graph.npz", lambda temporary: save_graph(temporary, data))
            save_tensors(self.path / "split.safetensors", split, {})
            text = yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True)
            write_text(self.path / "config.yaml", text)  # last: a folder with settings holds all of a run
        except BaseException:
            self._remove(created)
            raise
        return lambda: self._remove(created)

    def _claim(self) -> None:
        """Take the folder for a new run; of two processes that try, one can make the folder of checkpoints."""
        try:
            (self.path / _FOLDERS[0]).mkdir()
        except FileExistsError:
            raise FileExistsError(f"{self} was taken by another run; choose another folder") from None

    def _remove(self, created: list[Path]) -> None:
        for name in _FOLDERS:
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        for each in created:
            if not any(each.iterdir()):
                each.rmdir()

    # --- settings, graph, split --------------------------------------------------------------------------------------

    def config(self) -> Config:
        """Read the settings.

        Raises:
            FileNotFoundError: There is no run.
            ValueError: Its settings cannot be understood, or it was written by a version that did not keep the graph.
        """
        path = self.path / "config.yaml"
        if not path.is_file():
            raise FileNotFoundError(f"{self} holds no run: there is no {path}")
        config = Config.checked(read_config(path), str(path))
        if not (self.path / "graph.npz").is_file():
            raise ValueError(
                f"{self} was written by an earlier version, which did not keep the graph; train it again: "
                f"qgcn train {config.task} --config {path} --out NEW_FOLDER"
            )
        return config

    def graph(self) -> "Data":
        """Read the graph."""
        return load_graph(self.path / "graph.npz")

    def split(self) -> dict[str, Tensor]:
        """Read what was drawn or read once beside the graph."""
        return load_tensors(self.path / "split.safetensors")[0]

    # --- machine, course, results ------------------------------------------------------------------------------------

    def environment(self) -> dict[str, Any]:
        """Read where the run took place; nothing if it has not begun."""
        path = self.path / "environment.json"
        return read_json(path) if path.is_file() else {}

    def add_environment(self, now: dict[str, Any]) -> None:
        """Say where the run takes place; where it was resumed, if elsewhere, is added."""
        first = self.environment()
        later = first.pop("resumed", [])
        if now not in (first, *later):
            write_json(self.path / "environment.json", first | {"resumed": [*later, now]} if first else now)

    def log(self, seeds: list[int], epoch: int) -> MetricsLog:
        """Open the log of a group of seeds at an epoch."""
        return MetricsLog(self.path / "metrics.jsonl", seeds, epoch)

    def curves(self) -> list[Curve]:
        """Read how training went."""
        return read_curves(self.path / "metrics.jsonl")

    def results(self) -> dict[str, Any] | None:
        """Read the results; nothing if the run is not finished."""
        path = self.path / "results.json"
        if not path.is_file():
            return None
        results = read_json(path)
        try:
            seeds = [
                each | {split: _numbers(each[split]) for split in ("val", "test") if split in each} for each in results["seeds"]
            ]
            summary = {name: _numbers(each) for name, each in results["summary"].items()}
            more = {}
            if "yardsticks" in results:  # earlier versions had none
                more["yardsticks"] = {name: _numbers(each) for name, each in results["yardsticks"].items()}
                if not all(results["metric"] in each for each in more["yardsticks"].values()):
                    raise ValueError("scores of yardsticks are missing")
            if not all("test" in each and "seed" in each for each in seeds) or results["metric"] not in summary:
                raise ValueError("scores are missing")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path} is damaged ({error}); delete it to have it written again") from None
        return results | {"seeds": seeds, "summary": summary} | more

    def write_results(self, results: dict[str, Any]) -> None:
        """Write the results."""
        write_json(self.path / "results.json", results)

    # --- tensors -----------------------------------------------------------------------------------------------------

    def checkpoint(self, seeds: list[int], refit: bool = False) -> Path:
        """Return the file of a group's state, or of that of its last training on everything."""
        label = f"seed-{seeds[0]}" if len(seeds) == 1 else f"seeds-{seeds[0]}-{seeds[-1]}"
        return self.path / "checkpoints" / f"{'refit-' if refit else ''}{label}.safetensors"

    def save_seed(self, seed: int, weights: dict[str, Tensor], embedding: Embedding) -> None:
        """Write the best parameters and the best embedding of a seed."""
        save_tensors(self.path / "weights" / f"seed-{seed}.safetensors", weights, {"seed": seed})
        write_embedding(self.path / "embeddings" / f"seed-{seed}.npz", embedding)

    def holds_seed(self, seed: int) -> bool:
        """Tell whether the parameters and the embedding of a seed are written."""
        names = (f"weights/seed-{seed}.safetensors", f"embeddings/seed-{seed}.npz")
        return all((self.path / name).is_file() for name in names)

    def embedding(self, seed: int) -> Embedding | None:
        """Read the embedding of a seed, if it is written."""
        path = self.path / "embeddings" / f"seed-{seed}.npz"
        return load_embedding(path) if path.is_file() else None

    def weights(self, seed: int) -> tuple[dict[str, Tensor] | None, int | None]:
        """Return the best parameters of a seed, from its own file or from a checkpoint; and the checkpoint's epoch."""
        path = self.path / "weights" / f"seed-{seed}.safetensors"
        if path.is_file():
            return load_tensors(path)[0], None
        for path in sorted((self.path / "checkpoints").glob("seed*.safetensors")):
            tensors, about = load_tensors(path)
            members = about.get("seeds", [])
            if seed in members:
                best = {name.removeprefix("best/"): tensor for name, tensor in tensors.items() if name.startswith("best/")}
                index = members.index(seed)
                one = {name: tensor[index] if len(members) > 1 else tensor for name, tensor in best.items()}
                return one, int(about.get("epoch", 0))
        return None, None


def _numbers(scores: dict[str, Any]) -> dict[str, float]:
    return {name: number(value) for name, value in scores.items()}
