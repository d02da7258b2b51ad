"""Steps on pairs of blocks: the objective over drawn negatives, with two blocks on the device at a time."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from qgcn.kernels.sampled import Negatives, Part, part_loss
from qgcn.models import Encoder
from qgcn.nn import mixed_key
from qgcn.tasks import Config
from qgcn.training.blocks.partition import BlockGraph, Group
from qgcn.training.blocks.store import BlockStore
from qgcn.training.parameters import build_optimiser, clip_gradients, parameter_roles

__all__ = ["BLOCK", "BlockEngine"]

BLOCK = "coordinates"
"""Parameter of the encoder that is cut into blocks; all others are shared."""
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
_START, _TOUR, _COLUMNS = -3, -4, -5  # keep the streams apart from those of layers and tasks


@dataclass
class _Block:
    """A block on the device, with its optimiser."""

    index: int
    parameter: nn.Parameter
    optimiser: torch.optim.Adam

    def tensors(self) -> dict[str, Tensor]:
        """Return parameter and moments, on the CPU."""
        state = self.optimiser.state[self.parameter]
        moments = {name: state[name].detach().cpu() for name in _MOMENTS}
        return {BLOCK: self.parameter.detach().cpu(), **moments}


class BlockEngine:
    r"""Learns coordinates of the nodes of a large graph, two blocks at a time.

    Nodes are dealt out into small blocks once, and these into groups in every epoch, all at random. In the step of groups
    :math:`i` and :math:`j`, edges from :math:`i` to :math:`j` are told from nodes drawn from :math:`j`, edges back from nodes
    drawn from :math:`i`: nodes drawn from a group are nodes drawn from all, and others in the next epoch.

    All that is drawn is a function of seed, epoch and blocks.

    Args:
        graph: The graph in blocks.
        config: The settings.
        seed: Of the model.
        device: Where steps are taken.
        store: Where blocks are meanwhile.
        shared: The model of one node, whose other parameters all blocks share: an encoder and ``log_temperature``.
        build: Makes the model of so many nodes from PyTorch's global generator.
        groups: Number of groups, of which two are on the device at a time.
        balance: Let nodes count equally instead of edges.
    """

    def __init__(
        self,
        graph: BlockGraph,
        config: Config,
        seed: int,
        device: torch.device,
        store: BlockStore,
        shared: Any,
        build: Callable[[int], Any],
        *,
        groups: int,
        balance: bool = True,
    ) -> None:
        self.graph, self.config, self.seed, self.device, self.store = graph, config, seed, device, store
        self.shared = shared
        self._build, self._balance, self._groups = build, balance, min(groups, graph.blocks)
        self.encoder: Encoder = shared.encoder
        self._here: dict[int, _Block] = {}
        self._dtype = getattr(torch, config.precision)
        roles = parameter_roles(shared)
        self._roles = roles
        learned = {name: each for name, each in shared.named_parameters() if name != f"encoder.{BLOCK}" and each.requires_grad}
        self.parameters: dict[str, Tensor] = learned
        self.optimiser = build_optimiser(learned, roles, config)

    # --- blocks ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Draw all blocks where they start."""
        for block in range(self.graph.blocks):
            self.store.put(block, self._drawn(block))

    def _drawn(self, block: int) -> dict[str, Tensor]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(mixed_key(self.seed, block, _START))
            encoder = self._build(self.graph.nodes(block)).encoder
        start = dict(encoder.named_parameters())[BLOCK].detach().to(self._dtype)
        return {
            BLOCK: start,
            "step": torch.zeros((), dtype=torch.float32),
            "exp_avg": torch.zeros_like(start),
            "exp_avg_sq": torch.zeros_like(start),
        }

    def like(self) -> list[dict[str, Tensor]]:
        """Return tensors of the shapes and types of all blocks, without numbers."""
        width = dict(self.encoder.named_parameters())[BLOCK].shape[1]
        found = []
        for block in range(self.graph.blocks):
            rows = torch.empty(self.graph.nodes(block), width, dtype=self._dtype, device="meta")
            step = torch.empty((), dtype=torch.float32, device="meta")
            found.append({BLOCK: rows, "step": step, "exp_avg": rows, "exp_avg_sq": rows})
        return found

    def fetch(self, *blocks: int) -> list[_Block]:
        """Have some blocks on the device and no others."""
        for block in [block for block in self._here if block not in blocks]:
            self.store.put(block, self._here.pop(block).tensors())
        for block in blocks:
            if block not in self._here:
                self._here[block] = self._placed(block)
        return [self._here[block] for block in blocks]

    def settle(self) -> None:
        """Give what is on the device to the store; it stays on the device."""
        for block, each in self._here.items():
            self.store.put(block, {name: tensor.clone() for name, tensor in each.tensors().items()})

    def moving(self) -> list[Tensor]:
        """Return parameters and moments on the device."""
        found = list(self.parameters.values())
        for each in self._here.values():
            found += [each.parameter, *each.optimiser.state[each.parameter].values()]
        return [each.detach() for each in found]

    def forget(self) -> None:
        """Let go of what is on the device, unsaved."""
        self._here.clear()

    def _placed(self, block: int) -> _Block:
        tensors = self.store.get(block)
        parameter = nn.Parameter(tensors[BLOCK].to(self.device, copy=True))
        optimiser = build_optimiser({BLOCK: parameter}, {BLOCK: self._roles[f"encoder.{BLOCK}"]}, self.config)
        fused_step = self.device  # a fused optimiser counts on the device
        optimiser.state[parameter] = {
            "step": tensors["step"].to(fused_step, copy=True),
            "exp_avg": tensors["exp_avg"].to(self.device, copy=True),
            "exp_avg_sq": tensors["exp_avg_sq"].to(self.device, copy=True),
        }
        return _Block(block, parameter, optimiser)

    # --- steps -------------------------------------------------------------------------------------------------------

    def tour(self, epoch: int) -> list[tuple[Group, Group]]:
        """Return the pairs of groups of an epoch, in its order."""
        return self.graph.tour(self._groups, torch.Generator().manual_seed(mixed_key(self.seed, epoch, _TOUR)))

    def step(self, epoch: int, pair: tuple[Group, Group], negatives: int, rate: float) -> Tensor:
        """Take the step of a pair of groups.

        Args:
            epoch: Number of the epoch.
            pair: The groups; once the same, for the edges within it.
            negatives: Nodes drawn from each.
            rate: Share of the learning rates.

        Returns:
            The objective's part of these edges; all parts of an epoch add up to it.
        """
        blocks = self.fetch(*_distinct(pair))
        points = torch.cat([self.points(each.parameter) for each in blocks])
        parts = self._parts(epoch, pair, negatives)
        if not parts:
            return torch.zeros((), dtype=torch.float64)
        tau = self.shared.log_temperature.exp().to(points.dtype)
        loss = torch.stack([part_loss(points, part, self.encoder.space, tau) for part in parts]).sum()
        optimisers = [self.optimiser, *(each.optimiser for each in blocks)]
        for optimiser in optimisers:
            optimiser.zero_grad()
            for group in optimiser.param_groups:
                group["lr"] = group["initial_lr"] * rate
        # every step looks like one on the whole objective
        (loss * self._groups**2 / len(parts)).backward()
        if self.config.clip is not None:
            clip_gradients([*self.parameters.values(), *(each.parameter for each in blocks)], self.config.clip)
        for optimiser in optimisers:
            optimiser.step()
        return loss.detach().double().cpu()

    def points(self, coordinates: Tensor) -> Tensor:
        """Return the points of some nodes."""
        found: Tensor = functional_call(self.encoder, {BLOCK: coordinates}, (None,))
        return found

    def _parts(self, epoch: int, pair: tuple[Group, Group], negatives: int) -> list[Part]:
        """Return the edges both ways, or of one group within itself, with what they are told from."""
        graph, blocks = self.graph, _distinct(pair)
        sizes = [graph.nodes(block) for block in blocks]
        first = dict(zip(blocks, accumulate(sizes, initial=0), strict=False))
        number = pair[0][0] * graph.blocks + pair[1][0]
        generator = torch.Generator().manual_seed(mixed_key(self.seed, epoch, number, _COLUMNS))
        parts = []
        for source, target in dict.fromkeys((pair, pair[::-1])):
            rows, columns = (range(first[each[0]], first[each[-1]] + graph.nodes(each[-1])) for each in (source, target))
            drawn = columns.start + torch.randperm(len(columns), generator=generator)[:negatives]
            local = [
                graph.edges(a, b).to(self.device) + torch.tensor([[first[a]], [first[b]]], device=self.device)
                for a in source
                for b in target
            ]
            ends = torch.cat(local, dim=1)
            if not ends.shape[1]:
                continue
            degree = torch.cat([graph.degree[graph.places(block)] for block in source]).to(self.device)
            weight = self._share(degree, ends[0] - rows.start)
            others = (graph.num_nodes - 1 - degree).to(self._dtype)
            parts.append(Part(ends, weight, Negatives.of(drawn.to(self.device), ends, rows, sum(sizes), others)))
        return parts

    def _share(self, degree: Tensor, source: Tensor) -> Tensor:
        """Return the weight of each edge in the whole objective."""
        if self._balance:
            return (1 / (degree.double() * self.graph.joined)).to(self._dtype)[source]
        return torch.full((len(source),), 1 / self.graph.num_edges, dtype=self._dtype, device=self.device)

    @torch.no_grad()
    def embedding(self, read: Callable[[int], dict[str, Tensor]], *, points: bool = True) -> Tensor:
        """Return points or coordinates of all nodes, shape ``(N, d)``, on the CPU.

        Args:
            read: Returns the tensors of a block.
            points: Return points; otherwise coordinates.
        """
        parts = []
        for block in range(self.graph.blocks):
            rows = read(block)[BLOCK]
            parts.append(self.points(rows.to(self.device)).cpu() if points else rows)
        found = torch.empty(self.graph.num_nodes, parts[0].shape[1], dtype=parts[0].dtype)
        found[self.graph.order] = torch.cat(parts)
        return found


def _distinct(pair: tuple[Group, Group]) -> Group:
    """Return the blocks of both groups, each once."""
    return pair[0] if pair[0] == pair[1] else pair[0] + pair[1]


def cosine(epoch: int, epochs: int) -> float:
    """Return the share of the learning rate at an epoch."""
    return (1 + math.cos(math.pi * epoch / epochs)) / 2
