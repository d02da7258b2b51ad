"""Graphs: named data sets, your own, generated ones, and how they are split."""

from qgcn.data.assemble import degree_one_hot, undirected
from qgcn.data.catalogue import Dataset, datasets
from qgcn.data.generators import (
    cycle,
    grid,
    ring_of_trees,
    sphere_graph,
    sphere_with_trees,
    stochastic_block,
    torus_graph,
    torus_with_trees,
    tree,
    tree_with_cycles,
)
from qgcn.data.hierarchies import depths, find_cycle, split_hierarchy, transitive_closure
from qgcn.data.load import has_directed_splits, load, load_directed_split, load_entailment
from qgcn.data.names import NodeNames
from qgcn.data.ordered_splits import one_way, split_directed
from qgcn.data.own import as_data, read_graph
from qgcn.data.split_files import read_link_split, read_node_split
from qgcn.data.splits import LinkSplit, NegativeSampler, split_classes, split_links, split_nodes
from qgcn.data.spreading import spreading_graph, spreading_tree
from qgcn.data.store import load_graph, save_graph

__all__ = [
    "Dataset",
    "LinkSplit",
    "NegativeSampler",
    "NodeNames",
    "as_data",
    "cycle",
    "datasets",
    "degree_one_hot",
    "depths",
    "find_cycle",
    "grid",
    "has_directed_splits",
    "load",
    "load_directed_split",
    "load_entailment",
    "load_graph",
    "one_way",
    "read_graph",
    "read_link_split",
    "read_node_split",
    "ring_of_trees",
    "save_graph",
    "sphere_graph",
    "sphere_with_trees",
    "split_classes",
    "split_directed",
    "split_hierarchy",
    "split_links",
    "split_nodes",
    "spreading_graph",
    "spreading_tree",
    "stochastic_block",
    "torus_graph",
    "torus_with_trees",
    "transitive_closure",
    "tree",
    "tree_with_cycles",
    "undirected",
]
