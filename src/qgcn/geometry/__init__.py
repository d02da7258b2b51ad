"""The geometry of pseudo-hyperboloids as pure functions on tensors.

Every function takes points with the manifold axis last, shape ``(..., d)``, broadcasts over the axes before it, and
returns the type it was given. ``beta`` is a negative number, a scalar tensor, or a tensor that broadcasts against
``(..., 1)`` (one curvature for each of a batch of models).
"""

from qgcn.geometry.ambient import causal_type, check, flip_time, inner, magnitude, pole, square
from qgcn.geometry.causality import (
    anti_de_sitter_margin,
    anti_de_sitter_sky,
    anti_de_sitter_time,
    ball_margin,
    causal_order,
    check_oriented,
    de_sitter_ball,
    de_sitter_margin,
    de_sitter_time,
    flat_margin,
    flat_time,
    future_field,
    interval_time,
    roll_up,
    sky_margin,
    time_sense,
    unroll,
)
from qgcn.geometry.diffeomorphic import expmap0, expmap_flat, logmap0, logmap_flat
from qgcn.geometry.geodesic import (
    dist,
    expmap,
    geodesic,
    geodesic_dist,
    is_connected,
    logmap,
    pairwise_dist,
    signed_sqdist,
    sqdist,
    squared_chord,
)
from qgcn.geometry.hyperbolic import hyperbolic_translate0
from qgcn.geometry.hyperplanes import plane_dist
from qgcn.geometry.isometry import apply_isometry, random_isometry, rescale, transvection
from qgcn.geometry.means import centroid
from qgcn.geometry.projections import (
    project,
    project_tangent,
    pull_back_from_sphere,
    push_to_sphere,
    sphere_inverse,
    sphere_projection,
)
from qgcn.geometry.sampling import sample
from qgcn.geometry.splitting import carried_share, definite_inner, descent_direction, step_share
from qgcn.geometry.tangent import fold0, translate0
from qgcn.geometry.transport import translate, transport
from qgcn.geometry.volume import log_volume, log_volume0, preimages0

__all__ = [
    "anti_de_sitter_margin",
    "anti_de_sitter_sky",
    "anti_de_sitter_time",
    "apply_isometry",
    "ball_margin",
    "carried_share",
    "causal_order",
    "causal_type",
    "centroid",
    "check",
    "check_oriented",
    "de_sitter_ball",
    "de_sitter_margin",
    "de_sitter_time",
    "definite_inner",
    "descent_direction",
    "dist",
    "expmap",
    "expmap0",
    "expmap_flat",
    "flat_margin",
    "flat_time",
    "flip_time",
    "fold0",
    "future_field",
    "geodesic",
    "geodesic_dist",
    "hyperbolic_translate0",
    "inner",
    "interval_time",
    "is_connected",
    "log_volume",
    "log_volume0",
    "logmap",
    "logmap0",
    "logmap_flat",
    "magnitude",
    "pairwise_dist",
    "plane_dist",
    "pole",
    "preimages0",
    "project",
    "project_tangent",
    "pull_back_from_sphere",
    "push_to_sphere",
    "random_isometry",
    "rescale",
    "roll_up",
    "sample",
    "signed_sqdist",
    "sky_margin",
    "sphere_inverse",
    "sphere_projection",
    "sqdist",
    "square",
    "squared_chord",
    "step_share",
    "time_sense",
    "translate",
    "translate0",
    "transport",
    "transvection",
    "unroll",
]
