"""The data sets known by name: what they are, where they come from, and the checksums of their files."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import Any

from torch import Tensor

from qgcn.caches import user_cache
from qgcn.data import generators, spreading

__all__ = ["CATALOGUE", "GENERATORS", "Dataset", "data_root", "datasets", "parts_of"]


@dataclass(frozen=True)
class Dataset:
    """A data set that :func:`qgcn.data.load` knows.

    Attributes:
        name: What to call it.
        nodes: Number of nodes.
        edges: Number of edges as loaded; an edge that has both directions counts once if no edge of the graph has a direction.
        features: Number of features of a node; 0 if it has none.
        classes: Number of classes; 0 if nodes have no labels.
        origin: Where it comes from.
        directed: Whether edges have a direction.
        local: Whether it can be loaded without a download; filled by :func:`datasets`.
        url: Address of the folder its files are published in; ``None`` if they are generated or must be placed by hand.
        files: SHA-256 of each file.
        layout: Content of a file that must be placed by hand.
        home: Name of the folder its files are in, if it is not its own.
        joined: Name of a file that holds all of it and may be placed by hand; taken instead where it is there.
    """

    name: str
    nodes: int
    edges: int
    features: int
    classes: int
    origin: str
    directed: bool = False
    local: bool = False
    url: str | None = field(default=None, repr=False)
    files: dict[str, str] = field(default_factory=dict, repr=False, hash=False)
    layout: str = field(default="", repr=False)
    home: str = field(default="", repr=False)
    joined: str = field(default="", repr=False)

    @property
    def folder(self) -> str:
        """Name of the folder its files are in: its own, or one that it shares with other data sets."""
        return self.home or self.name

    def is_in(self, root: Path) -> bool:
        """Tell whether its files are in a folder of data sets."""
        folder = root / self.folder
        whole = bool(self.joined) and (folder / self.joined).is_file()
        return whole or all((folder / file).is_file() for file in self.files)


def _planetoid(name: str, nodes: int, edges: int, features: int, classes: int, sums: dict[str, str]) -> Dataset:
    return Dataset(
        name,
        nodes,
        edges,
        features,
        classes,
        "github.com/kimiyoung/planetoid",
        url="https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/",
        files={f"ind.{name}.{part}": checksum for part, checksum in sums.items()},
    )


def _edge_list(name: str, nodes: int, edges: int, checksum: str) -> Dataset:
    return Dataset(
        name,
        nodes,
        edges,
        0,
        0,
        "github.com/xiongbo010/QGCN",
        url=f"https://raw.githubusercontent.com/xiongbo010/QGCN/main/data/{name}/",
        files={f"{name}.edges.csv": checksum},
    )


def _citations(name: str, nodes: int, edges: int, features: int, classes: int, checksum: str) -> Dataset:
    return Dataset(
        name,
        nodes,
        edges,
        features,
        classes,
        "github.com/ivam-he/DirLinkBench-SDGAE, placed by hand",
        directed=True,
        files={f"{name}.npz": checksum},
        layout="the arrays `edge_index` (2, E), `labels` (N,), the features by rows as `feature_indptr`, `feature_indices`, "
        "`feature_data` and `feature_shape`, and of each split K the ordered pairs (2, P) `splitK_pos_train`, "
        "`splitK_pos_val`, `splitK_pos_test`, `splitK_neg_val` and `splitK_neg_test`, from data/ and split/ of "
        "github.com/ivam-he/DirLinkBench-SDGAE",
        home="directed",
    )


_PUBLISHED = [
    _planetoid(
        "cora",
        2708,
        5278,
        1433,
        7,
        {
            "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
            "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
            "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
            "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
            "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
            "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
            "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
            "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
        },
    ),
    _planetoid(
        "citeseer",
        3327,
        4552,
        3703,
        6,
        {
            "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
            "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
            "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        },
    ),
    _planetoid(
        "pubmed",
        19717,
        44324,
        500,
        3,
        {
            "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
            "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        },
    ),
    Dataset(
        "airport",
        3188,
        18630,
        4,
        4,
        "github.com/HazyResearch/hgcn",
        url="https://raw.githubusercontent.com/HazyResearch/hgcn/master/data/airport/",
        files={"airport.p": "ab16b04cea3666e87dbd8a5bff3de68da61330f4604fa21082f7a17e806e64d8"},
    ),
    _edge_list("power", 4941, 6594, "a296b2cb888404932f0cc4f2b80f93f07964df3fd9d7c2e579093e0cf20b09ab"),
    _edge_list("bio-wormnet", 2274, 78328, "31037883f29c71d69e5bb13e92096d9f81438d8950a7e2872f715f4351303987"),
    _edge_list("web-edu", 3031, 6474, "be9cba6132ddeb0926a05e479995d7500d89e005a04a3cdf4cf59b24aa21f450"),
    _edge_list("facebook", 4039, 88234, "fe56ab7825e0f023f404ff3a7d2f6ecb3be3dc4fbbcc3d79cd9751a146f24301"),
    Dataset(
        "wordnet-nouns",
        82115,
        743241,
        0,
        0,
        "WordNet 3.0, placed by hand",
        directed=True,
        files={"wordnet-nouns.npz": "13f30e7196b0dfce19a9d1b6f6354bbef8ab11828bc767180b2c8247aa5d384b"},
        layout="the arrays `lemma` (N,), `hypernym` (E, 2) and `closure` (E, 2), the noun synsets of WordNet 3.0 "
        "(dict/data.noun), their direct (synset, hypernym) pairs and the transitive closure of those",
    ),
    Dataset(
        "wordnet-entailment",
        82114,
        84363,
        0,
        0,
        "github.com/dalab/hyperbolic_cones",
        directed=True,
        url="https://raw.githubusercontent.com/dalab/hyperbolic_cones/master/data/maxn/",
        files={
            f"noun_closure.tsv.{part}": checksum
            for part, checksum in {
                "vocab": "5008b1fc4b08fa262d148772a211d09fa24f8449616e36d184d3e869fdef05d1",
                "train_0percent": "9426238754ca694fcfaefb1c9d76fe97c8d6697a89d7c9db935449507666654d",
                "train_10percent": "5a20339521fc3d15687bd730d3a6ba6b51acd25369a0a298206441e9e45b44bb",
                "train_25percent": "e5c3f3aed0f8a8886571cf1922bcc2ada5c568d035078518f9f318ede1ee8cbf",
                "valid": "dbafb34bd2ebd73b7f939d2bef0dc36344751d9de70a409c463f734be125f3a7",
                "valid_neg": "30e8a5d4ed5043155687cf7a89ba43c1a64896a2747ef065723b4f72cdd4ef4f",
                "test": "14d37602a2d3133afcd0a284d4cc937a4287085b84984e7137f8f09800916808",
                "test_neg": "223c828f8674987a1e14dae3f95a8915e6321dce6a4a7d3e15c523c85eae931d",
            }.items()
        },
        joined="wordnet-entailment.npz",
    ),
    _citations("cora-ml", 2810, 8229, 2879, 7, "45364374f9da888df306d28a6f6b859ec96aad882259cf5934fe56e80b841c63"),
    _citations("citeseer-directed", 2110, 3705, 3703, 6, "edcc9d789d3cfcb05178f3be1fa1347b153fa15f4575f098348682ef9eafaee5"),
]

CATALOGUE = {entry.name: entry for entry in _PUBLISHED}

GENERATORS: dict[str, Callable[..., Any]] = {
    "tree": generators.tree,
    "cycle": generators.cycle,
    "grid": generators.grid,
    "ring-of-trees": generators.ring_of_trees,
    "torus-with-trees": generators.torus_with_trees,
    "sphere-with-trees": generators.sphere_with_trees,
    "tree-with-cycles": generators.tree_with_cycles,
    "stochastic-block": generators.stochastic_block,
    "sphere": generators.sphere_graph,
    "torus": generators.torus_graph,
    "spreading-tree": spreading.spreading_tree,
    "spreading-graph": spreading.spreading_graph,
}


def parts_of(made: Any) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return the edges, labels and features that a generator made, whichever of them it makes."""
    edge_index, labels, x, *_ = (*made, None, None) if isinstance(made, tuple) else (made, None, None)
    return edge_index, labels, x


def datasets(root: str | Path | None = None) -> list[Dataset]:
    """List every name that :func:`qgcn.data.load` knows: published data sets, then generated graphs at their default size.

    Args:
        root: Folder to look for files in; ``$QGCN_DATA``, then a cache folder by default.
    """
    folder = data_root(root)
    published = [replace(entry, local=entry.is_in(folder)) for entry in CATALOGUE.values()]
    return published + [_generated(name, generator) for name, generator in GENERATORS.items()]


def data_root(root: str | Path | None = None) -> Path:
    """Return the folder of the data sets: the argument, else ``$QGCN_DATA``, else ``qgcn`` in the user's cache folder."""
    if root is not None:
        return Path(root).expanduser()
    if named := os.environ.get("QGCN_DATA"):
        return Path(named).expanduser()
    return user_cache()


def _generated(name: str, generator: Callable[..., Any]) -> Dataset:
    edge_index, labels, x = parts_of(generator())
    sizes = {key: parameter.default for key, parameter in signature(generator).parameters.items()}
    return Dataset(
        name,
        sizes.get("nodes", int(edge_index.max()) + 1),
        edge_index.shape[1] // 2,
        0 if x is None else x.shape[1],
        0 if labels is None else int(labels.max()) + 1,
        "generated",
        local=True,
    )
