"""The paper's own tables: methods, graphs, and the figures as printed."""

from typing import NamedTuple

__all__ = [
    "BASELINES",
    "CLASSES",
    "CURVATURES",
    "DELTAS",
    "NETWORKS",
    "PERCEPTRONS",
    "PRINTED_CLASSES",
    "PRINTED_LINKS",
    "PRINTED_MAP",
    "PRINTED_PERCEPTRONS",
    "PRINTED_SECONDS",
    "PRINTED_SHARES",
    "RECONSTRUCTED",
    "RECONSTRUCTING",
    "SEEDS",
    "SIGNATURES",
    "TIMED",
    "TITLES",
    "Method",
]

SEEDS = 10
"""Seeds of every cell."""


class Method(NamedTuple):
    """A row of a table.

    Attributes:
        name: Its name there.
        model: Name of the model.
        space: Name of the space.
    """

    name: str
    model: str
    space: str

    @property
    def is_indefinite(self) -> bool:
        """Whether it is one of the paper's own: a pseudo-hyperboloid, with whatever signature."""
        return self.space.startswith("Q")


def _q(model: str, title: str, total: int, times: tuple[int, ...]) -> tuple[Method, ...]:
    return tuple(Method(f"{title} (Q{total - t},{t})", model, f"Q{total - t},{t}") for t in times)


TITLES = {
    "web-edu": "Web-Edu",
    "power": "Power",
    "bio-wormnet": "Bio-Worm",
    "facebook": "Facebook",
    "airport": "Airport",
    "pubmed": "PubMed",
    "citeseer": "CiteSeer",
    "cora": "Cora",
}
"""Graphs by name, as the tables write them."""
RECONSTRUCTED = ("web-edu", "power", "bio-wormnet", "facebook")
CLASSES = ("airport", "pubmed", "citeseer", "cora")

BASELINES = (
    Method("GCN (E10)", "qgcn", "E10"),
    Method("HGCN (H10)", "qgcn", "H10"),
    Method("GCN (S10)", "qgcn", "S10"),
    Method("κ-GCN (H5xH5)", "qgcn", "H5xH5"),
    Method("κ-GCN (S5xS5)", "qgcn", "S5xS5"),
    Method("κ-GCN (H5xS5)", "qgcn", "H5xS5"),
)
"""Rows of Table 1 that are not the paper's own. One network serves them all; each space has its own maps."""
RECONSTRUCTING = (*BASELINES, *_q("qgcn", "Q-GCN", 10, (1, 3, 5, 7, 10)))
SIGNATURES = _q("qgcn", "Q-GCN", 10, tuple(range(1, 11)))

NETWORKS = (
    Method("GCN", "gcn", "E16"),
    Method("GAT", "gat", "E16"),
    Method("SAGE", "sage", "E16"),
    Method("SGC", "sgc", "E16"),
    Method("HGCN (H16)", "hgcn", "H16"),
    Method("κ-GCN (H16)", "hgcn", "H16"),  # the same network here: its lines are shared
    Method("κ-GCN (S16)", "kappa-gcn", "S16"),
    Method("κ-GCN (H8xS8)", "kappa-gcn", "H8xS8"),
    *_q("qgcn", "Q-GCN", 16, (1, 2, 3, 14, 15, 16)),
)
"""Rows of Table 2."""
PERCEPTRONS = (
    Method("MLP", "mlp", "E16"),
    Method("HNN", "hnn", "H16"),
    *_q("qnn", "Q-NN", 16, (1, 2, 3, 14, 15, 16)),
)
"""Rows of Table 3."""
TIMED = (
    Method("GCN (E10)", "qgcn", "E10"),
    Method("Prod-GCN (H5xS5)", "qgcn", "H5xS5"),
    *_q("qgcn", "Q-GCN", 10, (1, 3, 5, 7, 9, 10)),
)
"""Rows of Table 4."""

# --- as printed; in the order of the rows above, columns in that of the graphs -----------------------------------------

PRINTED_MAP = {
    "web-edu": (83.66, 88.33, 82.72, 89.21, 86.70, 87.96, 87.03, 99.67, 98.49, 97.31, 82.57),
    "power": (86.61, 93.80, 92.73, 94.40, 94.58, 95.82, 94.35, 100.00, 100.00, 95.08, 94.20),
    "bio-wormnet": (90.19, 93.12, 88.98, 94.00, 90.36, 94.74, 92.83, 97.23, 95.75, 90.14, 88.67),
    "facebook": (81.73, 83.40, 81.04, 84.94, 84.56, 87.73, 81.60, 87.74, 87.03, 91.75, 83.81),
}
PRINTED_LINKS = {
    "airport": (89.24, 90.35, 89.86, 89.80, 96.03, 96.35, 90.38, 93.10, 96.30, 94.37, 92.53, 90.03, 89.07, 89.01),
    "pubmed": (91.31, 87.45, 90.70, 90.54, 96.08, 96.60, 94.84, 94.89, 95.42, 96.86, 96.20, 94.30, 94.66, 94.49),
    "citeseer": (85.48, 87.24, 90.71, 89.61, 96.31, 95.34, 95.79, 93.44, 94.76, 94.78, 94.54, 94.80, 97.01, 96.21),
    "cora": (88.52, 85.73, 87.52, 89.42, 91.62, 94.04, 93.20, 92.22, 93.14, 93.41, 93.56, 94.17, 94.81, 95.16),
}
PRINTED_CLASSES = {
    "airport": (81.54, 81.55, 82.79, 80.69, 90.57, 87.92, 81.94, 81.93, 89.72, 84.40, 82.38, 81.14, 81.24, 80.91),
    "pubmed": (79.30, 78.30, 77.30, 78.60, 80.50, 77.96, 78.80, 79.20, 80.50, 81.34, 80.94, 78.40, 78.11, 77.90),
    "citeseer": (72.27, 71.10, 69.20, 71.60, 68.90, 73.25, 72.13, 73.05, 72.67, 73.43, 74.13, 72.72, 73.19, 72.54),
    "cora": (81.90, 83.05, 74.90, 81.60, 79.90, 79.80, 81.08, 79.30, 80.57, 81.62, 79.91, 83.10, 83.72, 82.51),
}
PRINTED_PERCEPTRONS = {
    "pubmed": (72.30, 74.60, 74.31, 76.26, 75.85, 74.44, 73.44, 73.31),
    "citeseer": (60.22, 59.92, 59.33, 64.33, 63.65, 60.48, 60.33, 61.05),
    "cora": (55.80, 59.60, 60.38, 62.77, 59.04, 63.85, 64.85, 63.96),
}
PRINTED_SECONDS = {
    "web-edu": (2284, 4336, 2769, 3363, 3620, 3685, 3532, 2778),
    "facebook": (5456, 10338, 6981, 6303, 7142, 7512, 7980, 7037),
}
CURVATURES = {"web-edu": -0.6, "power": -0.3, "bio-wormnet": 0.0, "facebook": 0.1}
"""Mean sectional curvatures, in Table 1."""
DELTAS = {"airport": 1.0, "pubmed": 3.5, "citeseer": 4.5, "cora": 11.0}
"""Delta, in Table 2."""
PRINTED_SHARES = {
    "power": (0.4025, 0.1722, 0.1436, 0.0773, 0.0639, 0.0439),
    "bio-wormnet": (0.5635, 0.3949, 0.0410, 0.0, 0.0, 0.0),
    "web-edu": (0.9532, 0.0468, 0.0, 0.0, 0.0, 0.0),
    "facebook": (0.8209, 0.1569, 0.0221, 0.0, 0.0, 0.0),
    "airport": (0.6376, 0.3563, 0.0061, 0.0, 0.0, 0.0),
    "pubmed": (0.4239, 0.4549, 0.1094, 0.0112, 0.0006, 0.0),
    "citeseer": (0.3659, 0.3538, 0.1699, 0.0678, 0.0288, 0.0),
    "cora": (0.4474, 0.4073, 0.1248, 0.0189, 0.0016, 0.0102),
}
"""Shares of quadruples with delta 0, 0.5, ..., 2.5, in the appendix."""
