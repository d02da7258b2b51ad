"""Graphs by name for experiments: data sets, generated graphs, and real ones that are built where they are needed.

| name | graph |
| --- | --- |
| ``cora``, ``airport``, ... | data sets that ``qgcn.data.load`` knows |
| ``cora-ml``, ``citeseer-directed`` | citation graphs in ``$QGCN_DATA/directed``, directions dropped |
| ``FILE.npz`` | a file of ``qgcn.data.save_graph`` |
| ``csbm:N:SEED`` | contextual stochastic block model: five homophilous classes, noisy features |
| ``dcsbm:N:SEED`` | degree-corrected block model with eight classes, no features |
| ``ba:N:SEED``, ``ws:N:SEED`` | Barabasi-Albert, Watts-Strogatz |
| ``geo:N:SEED``, ``plc:N:SEED`` | random geometric, power-law cluster |
| ``knn:NAME`` | nearest neighbours among the rows of a table of scikit-learn: digits, iris, wine, breast_cancer |
| ``karate``, ``les-miserables``, ``davis`` | small graphs of NetworkX |
| ``debian``, ``debian-sources``, ``debian:SECTION`` | dependencies of Debian packages, from ``apt-cache dumpavail`` |
| ``imports``, ``imports:PACKAGE`` | imports among the modules of the installed Python packages |

python experiments/graphs.py debian-sources imports --save FOLDER      # to carry them to another machine
"""

import argparse
import ast
import os
import re
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from qgcn.data import as_data, load_graph, read_graph, save_graph

WORDS = 1000
"""Words that are features of a node, the most frequent ones."""
COMMON = 0.2
"""Share of the nodes beyond which a word says nothing."""
DEGREE = 10
"""Mean degree of generated graphs, about; neighbours of a row of a table."""


@lru_cache(maxsize=4)
def graph_of(name: str) -> Any:
    """Return the graph of a name, a PyG ``Data``."""
    kind, *rest = name.split(":")
    if name.endswith(".npz"):
        return load_graph(name)
    if kind in GENERATED:
        nodes, seed = (int(each) for each in rest)
        return GENERATED[kind](nodes, seed)
    if kind in BUILT:
        return BUILT[kind](*rest)
    directed = Path(os.environ.get("QGCN_DATA", ".")) / "directed" / f"{name}.npz"
    return _citations(directed) if directed.is_file() else as_data(name)


def _data(edges: Any, nodes: int, x: Any = None, y: Any = None) -> Any:
    from torch_geometric.data import Data

    data = Data(edge_index=torch.from_numpy(np.ascontiguousarray(edges, dtype=np.int64)), num_nodes=nodes)
    if x is not None:
        data.x = torch.from_numpy(np.asarray(x, dtype=np.float32))
    if y is not None:
        data.y = torch.from_numpy(np.asarray(y, dtype=np.int64))
    return read_graph(data)


def _citations(path: Path) -> Any:
    from scipy.sparse import csr_array

    with np.load(path) as held:
        parts = tuple(held[f"feature_{part}"] for part in ("data", "indices", "indptr"))
        x = csr_array(parts, shape=tuple(held["feature_shape"])).toarray()
        return _data(held["edge_index"], len(x), x, held["labels"])


# --- generated -------------------------------------------------------------------------------------------------------


def _block_edges(classes: Any, weight: Any, inside: float, edges: int, rng: np.random.Generator) -> Any:
    """Draw edges by the weights of their ends, such a share of them within classes."""
    chance = weight / weight.sum()
    count = 2 * edges  # some are drawn twice
    source = rng.choice(len(classes), count, p=chance)
    target = rng.choice(len(classes), count, p=chance)
    for each in np.unique(classes):
        members = np.flatnonzero(classes == each)
        own = np.flatnonzero((classes[source] == each) & (rng.random(count) < inside))
        target[own] = rng.choice(members, len(own), p=chance[members] / chance[members].sum())
    pairs = np.unique(np.sort(np.stack((source, target)), axis=0), axis=1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    return pairs[:, rng.permutation(pairs.shape[1])[:edges]]


def _contextual(nodes: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    classes = rng.integers(5, size=nodes)
    centres = rng.standard_normal((5, 64))
    x = 0.25 * centres[classes] + rng.standard_normal((nodes, 64))
    return _data(_block_edges(classes, np.ones(nodes), 0.5, nodes * DEGREE // 2, rng), nodes, x, classes)


def _degree_corrected(nodes: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    classes = rng.integers(8, size=nodes)
    return _data(_block_edges(classes, rng.pareto(2.0, nodes) + 1, 0.7, nodes * DEGREE // 2, rng), nodes, None, classes)


def _networkx(build: Callable[[Any, int, int], Any]) -> Callable[[int, int], Any]:
    def made(nodes: int, seed: int) -> Any:
        import networkx as nx

        return read_graph(nx.convert_node_labels_to_integers(build(nx, nodes, seed)))

    return made


GENERATED: dict[str, Callable[[int, int], Any]] = {
    "csbm": _contextual,
    "dcsbm": _degree_corrected,
    "ba": _networkx(lambda nx, n, seed: nx.barabasi_albert_graph(n, DEGREE // 2, seed=seed)),
    "ws": _networkx(lambda nx, n, seed: nx.watts_strogatz_graph(n, DEGREE, 0.1, seed=seed)),
    "geo": _networkx(lambda nx, n, seed: nx.random_geometric_graph(n, (DEGREE / (np.pi * n)) ** 0.5, seed=seed)),
    "plc": _networkx(lambda nx, n, seed: nx.powerlaw_cluster_graph(n, DEGREE // 2, 0.5, seed=seed)),
}


# --- real ------------------------------------------------------------------------------------------------------------


def _karate() -> Any:
    import networkx as nx

    graph = nx.karate_club_graph()
    y = [int(graph.nodes[node]["club"] == "Officer") for node in graph]
    return _data(np.array(list(graph.edges)).T, len(graph), None, y)


def _small(name: str) -> Callable[[], Any]:
    def made() -> Any:
        import networkx as nx

        graph = nx.convert_node_labels_to_integers(getattr(nx, name)())
        return _data(np.array(list(graph.edges)).T, len(graph))

    return made


def _neighbours(name: str) -> Any:
    """Rows of a table, standardised, each joined to its nearest ones; labels are the classes."""
    from sklearn import datasets
    from sklearn.neighbors import kneighbors_graph

    table = getattr(datasets, f"load_{name}")()
    x = table.data - table.data.mean(axis=0)
    x /= np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    pairs = kneighbors_graph(x, DEGREE).tocoo()
    return _data(np.stack((pairs.row, pairs.col)), len(x), x, table.target)


def _word_features(texts: Iterable[str]) -> Any:
    """Return which of the most frequent words occur in each text, shape ``(N, WORDS)``."""
    found = [set(re.findall(r"[a-z]{3,}", text.lower())) for text in texts]
    counts = Counter(word for words in found for word in words)
    usual = [word for word, count in counts.most_common() if count <= COMMON * len(found)][:WORDS]
    place = {word: k for k, word in enumerate(usual)}
    x = np.zeros((len(found), len(usual)), dtype=np.float32)
    for row, words in enumerate(found):
        x[row, [place[word] for word in words if word in place]] = 1
    return x


def _assembled(names: list[str], links: dict[str, set[str]], labels: list[str], texts: list[str], least: int = 20) -> Any:
    """Build the largest component of named nodes that link to each other; labels of few nodes are left out."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    place = {name: k for k, name in enumerate(names)}
    pairs = [(place[name], place[other]) for name in names for other in sorted(links[name]) if other in place and other != name]
    edges = np.array(pairs, dtype=np.int64).T
    matrix = coo_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(len(names),) * 2)
    part = connected_components(matrix, directed=False)[1]
    kept = np.flatnonzero(part == np.bincount(part).argmax())
    new = np.full(len(names), -1)
    new[kept] = np.arange(len(kept))
    edges = new[edges[:, np.isin(edges[0], kept)]]
    sizes = Counter(labels[k] for k in kept)
    number = {label: k for k, label in enumerate(sorted(label for label, size in sizes.items() if size >= least))}
    y = [number.get(labels[k], -1) for k in kept]
    return _data(edges, len(kept), _word_features(texts[k] for k in kept), y if len(number) > 1 else None)


@cache
def _packages() -> list[dict[str, str]]:
    """Read the packages that this machine's package manager knows of."""
    listing = subprocess.run(["/usr/bin/apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    packages = {}
    for block in listing.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(" "))
        if "Package" in fields:
            packages[fields["Package"]] = fields
    return [packages[name] for name in sorted(packages)]


def _needs(package: dict[str, str]) -> set[str]:
    listed = ", ".join(package.get(key, "") for key in ("Depends", "Pre-Depends", "Recommends"))
    return set(re.findall(r"(?:^|[,|]\s*)([a-z0-9][a-z0-9.+-]*)", listed))


def _debian(section: str | None = None) -> Any:
    """Packages and what they depend on or recommend; labels are the sections, features the words of the description."""
    chosen = [each for each in _packages() if section in (None, each.get("Section", "").split("/")[-1])]
    if not chosen:
        raise ValueError(f"no package of the section {section!r}: debian:python, debian:science, debian:games, ...")
    names = [each["Package"] for each in chosen]
    labels = [each.get("Section", "").split("/")[-1] for each in chosen]
    texts = [each.get("Description", "") for each in chosen]
    return _assembled(
        names, {each["Package"]: _needs(each) for each in chosen}, labels if section is None else [""] * len(names), texts
    )


def _sources() -> Any:
    """Source packages; one depends on another if a package built from it does."""
    source = {each["Package"]: each.get("Source", each["Package"]).split(" ")[0] for each in _packages()}
    links: dict[str, set[str]] = {name: set() for name in source.values()}
    sections: dict[str, Counter[str]] = {name: Counter() for name in links}
    texts: dict[str, list[str]] = {name: [] for name in links}
    for each in _packages():
        own = source[each["Package"]]
        links[own] |= {source[name] for name in _needs(each) if name in source}
        sections[own][each.get("Section", "").split("/")[-1]] += 1
        texts[own].append(each.get("Description", ""))
    names = sorted(links)
    labels = [sections[name].most_common(1)[0][0] for name in names]
    return _assembled(names, links, labels, [" ".join(texts[name]) for name in names])


def _imports(package: str | None = None) -> Any:
    """Modules of installed packages that import each other; the label is the package, or its first folder if one is named."""
    root = Path(sysconfig.get_paths()["purelib"])
    paths = sorted((root if package is None else root / package).rglob("*.py"))
    modules = {".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    links, texts = {}, []
    for name, path in modules.items():
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            tree = ast.Module(body=[], type_ignores=[])
        base = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
        links[name], defined = _imported(tree, base)
        texts.append(" ".join([ast.get_docstring(tree) or "", *(each.replace("_", " ") for each in defined)]))
    depth = 0 if package is None else 1
    labels = [[*name.split("."), ""][depth] for name in modules]
    return _assembled(list(modules), links, labels, texts)


def _imported(tree: ast.Module, base: list[str]) -> tuple[set[str], list[str]]:
    """Return what a module of a package imports, and the names of its functions and classes."""
    found, defined = set[str](), list[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = base[: len(base) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.append(node.name)
    return found, defined


BUILT: dict[str, Callable[..., Any]] = {
    "knn": _neighbours,
    "karate": _karate,
    "les-miserables": _small("les_miserables_graph"),
    "davis": _small("davis_southern_women_graph"),
    "debian": _debian,
    "debian-sources": _sources,
    "imports": _imports,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--save", type=Path, help="folder to write NAME.npz to")
    asked = parser.parse_args()
    for name in asked.graphs:
        data = graph_of(name)
        x, y = data.get("x"), data.get("y")
        about = f"{0 if x is None else x.shape[1]} features, {0 if y is None else int(y.max()) + 1} classes"
        print(f"{name}: {data.num_nodes} nodes, {data.num_edges} edges as given, {about}", flush=True)
        if asked.save is not None:
            asked.save.mkdir(parents=True, exist_ok=True)
            save_graph(asked.save / f"{name.replace(':', '-')}.npz", data)
