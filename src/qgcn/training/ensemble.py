"""The trained models of one seed or several, and what they say together of pairs of nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from qgcn.answer import Answer
from qgcn.blending import blend
from qgcn.data import NodeNames
from qgcn.kernels.pairs import distances_from
from qgcn.tasks import PairPredictor, Predictor
from qgcn.tasks.link_terms import LinkTerms
from qgcn.training.pairs import KnownPairs

__all__ = ["Ensemble", "Member", "over_seeds"]

Array = np.ndarray[Any, Any]
BLOCK_PAIRS = 2**18
"""Pairs that are decoded at once."""


@dataclass(frozen=True)
class Member:
    """The trained model of a seed.

    Attributes:
        predictor: The network with its decoder.
        points: Its embedding of the graph, shape ``(N, d)``.
        weights: Weights of its logits and of the task's cheap predictors, fitted on validation; float64, shape ``(1 + K,)``.
    """

    predictor: Predictor
    points: Tensor
    weights: Tensor

    @property
    def decoder(self) -> PairPredictor:
        """The model as one that decodes pairs."""
        return cast(PairPredictor, self.predictor)


class Ensemble:
    """The models of one or several seeds; their common answer is the mean over them.

    Args:
        members: The models, at least one.
        terms: Structural terms that their logits are weighed with, if they are.
    """

    def __init__(self, members: Sequence[Member], terms: LinkTerms | None = None) -> None:
        self.members = members
        self.terms = terms
        self.device = members[0].points.device

    def __len__(self) -> int:
        return len(self.members)

    # --- some pairs, by each model -----------------------------------------------------------------------------------

    @torch.no_grad()
    def logits(self, pairs: Tensor) -> Array:
        """Return calibrated logits of pairs, shape ``(2, P)``; float64, shape ``(S, P)``; NaN of a node with itself."""
        found = []
        for part in pairs.split(BLOCK_PAIRS, dim=1):
            part = part.to(self.device)
            others = [] if self.terms is None else [self.terms.of_pairs(part)]
            each = []
            for one in self.members:
                own = one.decoder.pair_logits(one.points, part).double().unsqueeze(-1)
                each.append(blend(torch.cat((own, *others), dim=-1), one.weights))
            found.append(torch.stack(each).masked_fill_(part[0] == part[1], torch.nan).cpu().numpy())  # graphs have no loops
        return np.concatenate(found, axis=1)

    def probabilities(self, pairs: Tensor) -> Array:
        """Return calibrated probabilities of pairs; float64, shape ``(S, P)``."""
        return torch.from_numpy(self.logits(pairs)).sigmoid().numpy()

    @torch.no_grad()
    def distances(self, pairs: Tensor) -> Array:
        """Return the distances of pairs, shape ``(2, P)``; float64, shape ``(S, P)``."""
        a, b = pairs.to(self.device)
        each = [member.predictor.space.dist(member.points[a], member.points[b]) for member in self.members]
        return torch.stack(each).double().cpu().numpy()

    # --- pairs by name -----------------------------------------------------------------------------------------------

    def probable(self, names: NodeNames, pairs: Array, group: Array) -> Answer:
        """Return pairs by name with their probabilities, the most probable first in each group.

        Args:
            names: Names of the nodes.
            pairs: Positions of both nodes, shape ``(2, P)``.
            group: Group of each pair, shape ``(P,)``.
        """
        each = self.probabilities(torch.from_numpy(pairs))
        mean = each.mean(0)
        order = np.lexsort((-mean, group))
        a, b = names.ids[pairs[:, order]]
        return Answer({"node": a, "other": b, "probability": mean[order]} | _spread(each[:, order]))

    def near(self, names: NodeNames, pairs: Array, group: Array, known: KnownPairs) -> Answer:
        """Return pairs by name with their distances, the nearest first in each group, and whether they are linked."""
        each = self.distances(torch.from_numpy(pairs))
        mean = each.mean(0)
        order = np.lexsort((mean, group))
        a, b = pairs[:, order]
        columns = {"node": names.ids[a], "neighbor": names.ids[b], "distance": mean[order], "linked": known.holds(a, b)}
        return Answer(columns | _spread(each[:, order]))

    # --- nodes with all nodes, together ------------------------------------------------------------------------------

    @torch.no_grad()
    def row_scores(self, nodes: Tensor) -> Tensor:
        """Return scores that rank the pairs of nodes, shape ``(n,)``, with all nodes, shape ``(n, N)``.

        They are the logits of a single model, which do not saturate, and the mean probability of several.
        """
        nodes = nodes.to(self.device)
        if len(self) == 1:
            return self._row_logits(self.members[0], nodes)
        return _mean((self._row_logits(one, nodes).sigmoid_() for one in self.members), len(self))

    def _row_logits(self, member: Member, nodes: Tensor) -> Tensor:
        """Return the calibrated logits of nodes with all nodes, shape ``(n, N)``."""
        logits = member.decoder.row_logits(member.points, nodes).mul_(float(member.weights[0]))
        return logits if self.terms is None else logits.add_(self.terms.of_rows(nodes, member.weights[1:]).to(logits))

    @torch.no_grad()
    def row_nearness(self, nodes: Tensor) -> Tensor:
        """Return the negative mean distance of nodes, shape ``(n,)``, to all nodes, shape ``(n, N)``."""
        each = (distances_from(one.points, nodes.to(self.device), one.predictor.space) for one in self.members)
        return _mean(each, len(self)).neg_()


def _mean(each: Iterator[Tensor], count: int) -> Tensor:
    """Return the mean of tensors that may be overwritten, with two of them in memory."""
    total = next(each)
    for one in each:
        total += one
    return total.div_(count)


def _spread(each: Array) -> dict[str, Array]:
    """Return the column of the standard deviation over several seeds, the first axis."""
    return {"spread": each.std(0, ddof=1)} if len(each) > 1 else {}


def over_seeds(each: Array, return_std: bool) -> Any:
    """Return the mean over seeds, the first axis; with the standard deviation if asked for, 0 for one seed."""
    if not return_std:
        return each.mean(0)
    return each.mean(0), each.std(0, ddof=1) if len(each) > 1 else np.zeros_like(each[0])
