"""Tasks: node classification, link prediction, graph reconstruction, entailment, and what a task of one's own builds on."""

from qgcn.tasks.batches import WHOLE, Batch, Draws, FullBatch, Loader, Randomness, Share
from qgcn.tasks.classification import NodeClassification, NodeClassifier
from qgcn.tasks.config import Config, read_config
from qgcn.tasks.entailment import Entailment, EntailmentPredictor
from qgcn.tasks.link_predictor import LinkPredictor
from qgcn.tasks.links import LinkPrediction
from qgcn.tasks.minibatches import MiniBatches, MiniBatching
from qgcn.tasks.predictor import PairPredictor, Predictor
from qgcn.tasks.reconstruction import Reconstruction, Reconstructor
from qgcn.tasks.registry import TASKS, find_task, register_task
from qgcn.tasks.task import Rung, Task

__all__ = [
    "TASKS",
    "WHOLE",
    "Batch",
    "Config",
    "Draws",
    "Entailment",
    "EntailmentPredictor",
    "FullBatch",
    "LinkPrediction",
    "LinkPredictor",
    "Loader",
    "MiniBatches",
    "MiniBatching",
    "NodeClassification",
    "NodeClassifier",
    "PairPredictor",
    "Predictor",
    "Randomness",
    "Reconstruction",
    "Reconstructor",
    "Rung",
    "Share",
    "Task",
    "find_task",
    "read_config",
    "register_task",
]
