"""Tasks: node classification, link prediction, graph reconstruction."""

from qgcn.tasks.base import Predictor, Task
from qgcn.tasks.classification import NodeClassification, NodeClassifier
from qgcn.tasks.links import LinkPrediction, LinkPredictor
from qgcn.tasks.reconstruction import Reconstruction, Reconstructor

__all__ = [
    "TASKS",
    "LinkPrediction",
    "LinkPredictor",
    "NodeClassification",
    "NodeClassifier",
    "Predictor",
    "Reconstruction",
    "Reconstructor",
    "Task",
]

TASKS: dict[str, type[Task]] = {task.name: task for task in (Reconstruction, NodeClassification, LinkPrediction)}
