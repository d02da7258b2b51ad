"""Models."""

from qgcn.models.tangent import TangentNetwork

__all__ = ["TangentNetwork"]
