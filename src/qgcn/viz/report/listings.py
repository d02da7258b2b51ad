"""Listings of a run: links that are probably missing, labels that are probably wrong, near points that are not linked."""

import statistics
from typing import Any

import numpy as np
import torch
from scipy import sparse

from qgcn.answer import Answer
from qgcn.kernels.pairs import distances_from
from qgcn.progress import Progress, silent
from qgcn.tasks.insights import Listing, split_column
from qgcn.training.pairs import KnownPairs, best_pairs
from qgcn.training.run import Run

__all__ = ["listings_of"]

Array = np.ndarray[Any, Any]

ROWS = 50
"""Rows of a listing."""
MOST_NODES = 50_000
"""Nodes beyond which pairs are not compared."""
MOST_PAIRS = 500_000_000
"""Pairs, times seeds, beyond which one seed answers for all."""


def listings_of(
    run: Run, shown: int, *, rows: int = ROWS, notices: list[str] | None = None, progress: Progress = silent
) -> list[Listing]:
    """Return what the models of a finished run find worth looking at.

    A task that scores pairs lists missing links, one that predicts classes doubtful labels, one that does neither the nearest
    points that are not linked; then come those of :meth:`~qgcn.tasks.Task.listings`. Pairs are compared in blocks of rows.

    Args:
        run: The run.
        shown: Seed whose embedding is shown.
        rows: Rows of each listing, at most.
        notices: Collects what is left out, and why.
        progress: Progress callback.

    Raises:
        OSError: The weights of a seed cannot be read.
        ValueError: The run is not finished, or its weights do not fit.
    """
    run.check_finished()
    task, found = run.answering, list[Listing]()
    if task.scores_pairs or not task.predicts_classes:
        if task.num_nodes <= MOST_NODES:
            found.append((_missing_links if task.scores_pairs else _nearest_unlinked)(run, shown, rows, progress))
        elif notices is not None:
            notices.append(
                f"Pairs that are not linked are not listed: the graph has {task.num_nodes:,} nodes, more than {MOST_NODES:,}."
            )
    if task.predicts_classes:
        found.append(_doubtful_labels(run, rows))
    with torch.no_grad():
        return found + task.listings(run.predictor(shown))


def _missing_links(run: Run, shown: int, rows: int, progress: Progress) -> Listing:
    several = run.task.num_nodes**2 * len(run.seeds) <= MOST_PAIRS
    table = run.missing_links(rows, seed=None if several else shown, progress=progress)
    way = f"{run.task.pair_order} " if run.task.directed else ""
    return Listing(
        "missing-links",
        "Links most probably missing",
        f"Pairs that the graph does not link and that {_who(run, several, shown)} most probable. {way}The probability is that "
        f"of a pair which is linked in {100 * run.answering.base_rate:.0f} % of cases, as in validation; among all pairs links "
        f"are far rarer, so read it as a ranking. {_on_calibration(run)}",
        _with_common_neighbours(run, table),
        nodes=("node", "other"),
        shares=_shares(table),
    )


def _nearest_unlinked(run: Run, shown: int, rows: int, progress: Progress) -> Listing:
    points, space, ids = run.embedding(shown)

    def nearness(nodes: torch.Tensor) -> torch.Tensor:
        return distances_from(points, nodes, space).neg_()

    known = KnownPairs.of(run.answering.known_edges()[0], len(points))
    pairs = best_pairs(nearness, len(points), rows, known, progress)
    with torch.no_grad():
        distance = space.dist(points[pairs[0]], points[pairs[1]]).double().numpy()
    order = np.argsort(distance, kind="stable")
    a, b = ids[pairs[:, order]]
    table = Answer({"node": a, "other": b, "distance": distance[order]})
    seed = f" of seed {shown}" if len(run.seeds) > 1 else ""
    return Listing(
        "nearest-unlinked",
        "Nearest points that are not linked",
        f"Pairs that the graph does not link and whose points are nearest to each other in the embedding{seed}.",
        _with_common_neighbours(run, table),
        nodes=("node", "other"),
    )


def _doubtful_labels(run: Run, rows: int) -> Listing:
    data, classes = run.answering.data, np.asarray(run.classes)
    mean, spread = run.predict_proba(return_std=True)
    label, guess, every = data.y.cpu().numpy(), mean.argmax(1), np.arange(len(mean))
    doubtful = np.flatnonzero((label >= 0) & (guess != label))
    surest = doubtful[np.argsort((mean[every, label] - mean[every, guess])[doubtful], kind="stable")][:rows]
    columns = {
        "node": run.node_ids[surest],
        "label": classes[label[surest]],
        "predicted": classes[guess[surest]],
        "probability": mean[surest, guess[surest]],
        "label_probability": mean[surest, label[surest]],
    }
    if len(run.seeds) > 1:
        columns["spread"] = spread[surest, guess[surest]]
    split = split_column(data)
    if (split.values >= 0).any():
        columns["split"] = np.asarray([*split.labels, "none"])[split.values[surest]]
    table = Answer(columns)
    strongest = " A training node that it still contradicts is the strongest sign." if "split" in columns else ""
    return Listing(
        "doubtful-labels",
        "Labels most surely wrong",
        f"The model is surest that these labels are wrong, of {len(doubtful):,} that it contradicts among "
        f"{(label >= 0).sum():,}. It can be wrong itself: look at a node before you change its label.{strongest} Rows are "
        f"ordered by the probability of the predicted class minus that of the label{_over_seeds(run)}. {_on_calibration(run)}",
        table,
        shares=_shares(table),
    )


def _with_common_neighbours(run: Run, table: Answer) -> Answer:
    """Return pairs with the number of neighbours that both nodes have in the graph."""
    i, j = run.answering.known_edges()[0].cpu().numpy()
    links = sparse.csr_array((np.ones(2 * len(i), dtype=np.int64), (np.append(i, j), np.append(j, i))), (len(run.names),) * 2)
    links.data[:] = 1  # however often an edge is there
    a, b = (run.names.locate(table[name]) for name in ("node", "other"))
    return Answer(table.columns | {"common_neighbours": links[a].multiply(links[b]).sum(1)})


def _shares(table: Answer) -> tuple[str, ...]:
    return tuple(name for name in ("probability", "label_probability", "spread") if name in table.columns)


# --- in words --------------------------------------------------------------------------------------------------------


def _who(run: Run, several: bool, shown: int) -> str:
    if len(run.seeds) == 1:
        return "the model finds"
    return f"the models of {len(run.seeds)} seeds together find" if several else f"the model of seed {shown} finds"


def _over_seeds(run: Run) -> str:
    return "" if len(run.seeds) == 1 else f" (mean over {len(run.seeds)} seeds)"


def _on_calibration(run: Run) -> str:
    """Return what calibration did to the probabilities, in a sentence."""
    each = [result["calibration"] for result in run.results if "calibration" in result]
    if len(each) < len(run.results):
        return "Probabilities are not calibrated."
    before, after = (statistics.fmean(one[name] for one in each) for name in ("uncalibrated", "error"))
    return (
        f"Calibration on validation{_temperature(run)} takes the expected calibration error on the test from "
        f"{100 * before:.1f} % to {100 * after:.1f} %{_over_seeds(run)}."
    )


def _temperature(run: Run) -> str:
    """Return what the logits are divided by, if nothing but the network is weighed."""
    blends = [result.get("blend", {}) for result in run.results]
    if any(len(weights) != 1 or min(weights.values()) <= 0 for weights in blends):
        return ""
    temperature = statistics.fmean(1 / weight for weights in blends for weight in weights.values())
    return f", with a temperature of {temperature:.2f},"
