"""Tasks, and what a task of one's own builds on.

Node classification, link prediction, directed links, graph reconstruction, that of directed pairs, entailment.
"""

from qgcn.tasks.arrow_predictor import ArrowPredictor
from qgcn.tasks.batches import WHOLE, Batch, Draws, FullBatch, Loader, Randomness, Share
from qgcn.tasks.classification import NodeClassification, NodeClassifier
from qgcn.tasks.config import Config, read_config
from qgcn.tasks.directed_links import DirectedLinks
from qgcn.tasks.directed_reconstruction import DirectedReconstruction, DirectedReconstructor
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
    "ArrowPredictor",
    "Batch",
    "Config",
    "DirectedLinks",
    "DirectedReconstruction",
    "DirectedReconstructor",
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
