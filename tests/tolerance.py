"""One table of tolerances, for both types."""

import torch

DTYPES = (torch.float32, torch.float64)

# relative error of an elementary step; what a map does to it is stated where it is compared
ROUNDING = {torch.float32: 2e-6, torch.float64: 4e-15}

# worst relative error promised for well-conditioned inputs: radius <= 5, separations down to 1e-3
PROMISED = {torch.float32: 1e-3, torch.float64: 1e-10}
