"""The objective of reconstruction over drawn negatives: shared by all rows, each weighed for those it stands for."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from qgcn.kernels.metric import Metric
from qgcn.kernels.pairs.neighbourhoods import Neighbourhoods, check_points
from qgcn.kernels.pairs.objective import temperature_of
from qgcn.kernels.sampled.negatives import Negatives
from qgcn.kernels.sampled.operation import sampled_energies

__all__ = ["Part", "part_loss", "sampled_reconstruction_loss"]


class Part(NamedTuple):
    """Some edges of a graph and what they are told from.

    Attributes:
        edges: Edges that leave rows, shape ``(2, E)``.
        share: Weight of each edge in the objective, shape ``(E,)``.
        negatives: The rows and the negatives drawn for them.
    """

    edges: Tensor
    share: Tensor
    negatives: Negatives


def sampled_reconstruction_loss(
    x: Tensor,
    graph: Neighbourhoods,
    manifold: Metric,
    columns: Tensor,
    *,
    temperature: Tensor | float = 1.0,
    squared: bool = True,
    balance: bool = False,
    rows: range | None = None,
) -> Tensor:
    r"""Return :func:`~qgcn.kernels.reconstruction_loss`, denominator ``negatives``, estimated from some of the nodes.

    .. math:: \widehat{\mathcal L} = \frac1E \sum_{(u,v)} \log\Bigl(1 + e^{\tau d(u,v)^2} \widehat Z_u\Bigr), \qquad
        \widehat Z_u = \frac{|V \setminus X(u)|}{|S \setminus X(u)|} \sum_{w \in S \setminus X(u)} e^{-\tau d(u,w)^2},
        \qquad X(u) = \mathcal N(u) \cup \{u\}

    All rows share the nodes drawn, :math:`S`; the neighbours of a row among them are left out, exactly.

    Laws: equal to the exact objective if all nodes are drawn. If :math:`S` is drawn uniformly, :math:`\widehat Z_u` is unbiased
    for every number of nodes drawn that are left to :math:`u`. The estimate of the objective is never above it on average, and
    below it by at most the mean over edges of

    .. math:: h(p)\, p^2\, \frac{c_u^2}{n}\Bigl(1 - \frac nM\Bigr), \qquad h(p) = \frac{-p - \log(1 - p)}{p^2}

    where :math:`n` of :math:`u`'s :math:`M` non-neighbours are drawn, :math:`c_u` is the coefficient of variation of their
    terms (with :math:`M - 1`), and :math:`p` the share of the negatives in :math:`Z_{uv}`, so that :math:`h` is near 1/2 for an
    edge that is nearly told. The bound falls as :math:`1/n` and is 0 at :math:`n = M`.

    Args:
        x: Points, shape ``(N, d)``.
        graph: The neighbours of every node.
        manifold: The space; anything with ``pairwise_dist``.
        columns: Nodes drawn, :math:`S`, distinct, shape ``(n,)``.
        temperature: :math:`\tau > 0`, a number or a tensor with one element, to which gradients flow.
        squared: Use :math:`d^2`; otherwise :math:`d`.
        balance: Let nodes count equally instead of edges.
        rows: Consecutive nodes whose edges are counted; the losses of parts of the nodes add up to that of all (default: all).

    Returns:
        Scalar, shape ``()``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: ``x`` has another number of points than the graph has nodes, or ``temperature`` is not positive.

    Example:
        >>> import torch, qgcn
        >>> from qgcn.kernels import Neighbourhoods, reconstruction_loss, sampled_reconstruction_loss
        >>> space, ring = qgcn.parse_space("H2"), torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
        >>> graph = Neighbourhoods.of(torch.cat((ring, ring.flip(0)), dim=1), 5)
        >>> x = space.random(5, 3, dtype=torch.float64)
        >>> every = sampled_reconstruction_loss(x, graph, space, torch.arange(5))
        >>> torch.allclose(every, reconstruction_loss(x, graph, space))
        True
    """
    check_points(x, read=False)
    if graph.num_nodes != len(x):
        raise ValueError(f"x must have one point for each of the graph's {graph.num_nodes} nodes, got {len(x)}")
    rows = range(len(x)) if rows is None else rows
    leaving = slice(int(graph.start[rows.start]), int(graph.start[rows.stop]))
    edges = torch.stack((graph.source[leaving], graph.target[leaving]))
    total = (graph.num_nodes - 1 - graph.degree[rows.start : rows.stop]).to(x.dtype)
    negatives = Negatives.of(columns, edges, rows, len(x), total)
    share = graph.share[leaving].to(x.dtype) if balance else x.new_full((edges.shape[1],), 1 / graph.num_edges)
    return part_loss(x, Part(edges, share, negatives), manifold, temperature_of(temperature, x), squared=squared)


def part_loss(
    x: Tensor, part: Part, manifold: Metric, tau: Tensor, *, squared: bool = True, bias: Tensor | None = None
) -> Tensor:
    """Return the costs of some edges, each times its share, added up.

    Args:
        x: Points, shape ``(N, d)``.
        part: The edges.
        manifold: The space.
        tau: Temperature, shape ``()``.
        squared: Use squared distances.
        bias: Added to the exponent of each point as the far end of a pair, shape ``(N,)``.
    """
    x = x.as_subclass(Tensor)
    of_columns = part.negatives.of_columns
    if bias is not None:
        of_far = bias.index_select(0, part.negatives.columns)
        of_columns = of_far if of_columns is None else of_far + of_columns
    log_sum, energy = sampled_energies(x, part.negatives, part.edges, manifold, tau, squared=squared, bias=of_columns)
    log_sum = log_sum + part.negatives.log_weight.to(x.dtype)
    margin = torch.addcmul(log_sum.index_select(0, part.edges[0] - part.negatives.rows.start), tau, energy)
    if bias is not None:
        margin = margin - bias.index_select(0, part.edges[1])
    return part.share @ -logsigmoid(-margin)
