"""Models: one tangent-space network for every space, and the Euclidean baselines.

===============  ================================================  =========================
name             network                                           space
===============  ================================================  =========================
``qgcn``         convolutions in the tangent space                 any
``qnn``          the same without a graph                          any
``propagation``  a linear map, then steps with learned weights     any
``qgat``         convolutions that attend to distances             any
``deep``         many convolutions with an initial residual        any
``transformer``  attention to all nodes beside convolutions        any
``hgcn``         convolutions in the tangent space                 ``H16``
``hnn``          the same without a graph                          ``H16``
``kappa-gcn``    convolutions in the tangent space                 ``H8xS8``, ``K16``, ...
``gcn``          PyG's GCN; over a sphere, the tangent network     ``E16`` or ``S16``
``gat``          PyG's GAT                                         ``E16``
``sage``         PyG's GraphSAGE                                   ``E16``
``sgc``          PyG's SGConv                                      ``E16``
``mlp``          PyG's MLP                                         ``E16``
``shallow``      coordinates of every node                         any
===============  ================================================  =========================
"""

from qgcn.models.deep import Deep
from qgcn.models.encoder import Capabilities, Encoder, Options
from qgcn.models.named import register_named_models
from qgcn.models.propagation import Propagation
from qgcn.models.pyg import EuclideanNetwork
from qgcn.models.registry import MODELS, Model, build, default_space, find_model, lives_in, register_model
from qgcn.models.shallow import Coordinates
from qgcn.models.tangent import QGAT, QGCN, QNN, TangentNetwork
from qgcn.models.transformer import Transformer

__all__ = [
    "MODELS",
    "QGAT",
    "QGCN",
    "QNN",
    "Capabilities",
    "Coordinates",
    "Deep",
    "Encoder",
    "EuclideanNetwork",
    "Model",
    "Options",
    "Propagation",
    "TangentNetwork",
    "Transformer",
    "build",
    "default_space",
    "find_model",
    "lives_in",
    "register_model",
]

register_named_models()
