r"""Every constant, series and guard of the project, and the analytic functions built on them.

Two functions carry the whole geometry:

.. math:: C(z) = \cosh\sqrt z, \qquad F(q) = \bigl(2\operatorname{arsinh}(\sqrt q / 2)\bigr)^2,

continued through 0 to :math:`\cos\sqrt{-z}` and :math:`-(2\arcsin(\sqrt{-q}/2))^2`. Both are analytic at 0, and so are
their derivatives :math:`S = 2C'` and :math:`A = F'`: there is no branch to cross and no epsilon band. Each is a
``torch.autograd.Function`` whose derivative is the next member of its own family, so derivatives of every order exist,
stay finite and never pass through :math:`\sqrt 0`.
"""

from qgcn.numerics.arcs import ARC_LIMIT, arc, arc_over_sine, arc_polynomial, arc_squared
from qgcn.numerics.betas import MAX_LOG_BETA, bounded_negative, free_parameter, positive_or_nan
from qgcn.numerics.decays import SINE_RADIUS, decay_share
from qgcn.numerics.floats import FLOAT_TYPES, Limits, limits
from qgcn.numerics.functions import apply, recorded, transformed
from qgcn.numerics.norms import apart_or_zero, at_least_tiny, difference_or_zero, safe_norm, safe_sqrt, unit_or_axis
from qgcn.numerics.powers import nearest_power_of_two
from qgcn.numerics.roots import circle_root, cosh_root, cosh_sinhc_root, sinhc_root
from qgcn.numerics.series import ARC_SERIES_RADIUS, COSH_SERIES_RADIUS

__all__ = [
    "ARC_LIMIT",
    "ARC_SERIES_RADIUS",
    "COSH_SERIES_RADIUS",
    "FLOAT_TYPES",
    "MAX_LOG_BETA",
    "SINE_RADIUS",
    "Limits",
    "apart_or_zero",
    "apply",
    "arc",
    "arc_over_sine",
    "arc_polynomial",
    "arc_squared",
    "at_least_tiny",
    "bounded_negative",
    "circle_root",
    "cosh_root",
    "cosh_sinhc_root",
    "decay_share",
    "difference_or_zero",
    "free_parameter",
    "limits",
    "nearest_power_of_two",
    "positive_or_nan",
    "recorded",
    "safe_norm",
    "safe_sqrt",
    "sinhc_root",
    "transformed",
    "unit_or_axis",
]
