"""The spaces that are compared when one is to be chosen."""

__all__ = ["candidate_spaces", "spaces_of_dimension"]


def candidate_spaces(dim: int, few: bool = False) -> list[str]:
    """Return the spaces of ``dim`` coordinates that are compared: ``Q`` with every ``t``, ``E``, ``H``, ``S``, and products.

    Dimensions are counted as in the paper's tables, ``Q7,3``, ``E10``, ``H10``, ``S10``, ``H5xS5`` for 10: ``Q9,1`` and
    ``Q0,10`` are hyperbolic space and the sphere with one dimension less. Spaces of equal free dimensions are those of
    :func:`spaces_of_dimension`.

    Args:
        dim: Number of dimensions, at least 2.
        few: Some of each kind: ``t`` 1, 2, 4, ... and one product.
    """
    times = [t for t in range(1, _checked(dim) + 1) if not few or (t < dim and t.bit_count() == 1)]
    return (
        [f"Q{dim - t},{t}" for t in times]
        + [f"E{dim}", f"H{dim}", f"S{dim}"]
        + _products(dim)[1 if few else 0 : 2 if few else 3]
    )


def spaces_of_dimension(dim: int) -> list[str]:
    """Return the spaces of ``dim`` free dimensions: flat, hyperbolic, spherical, products, and every indefinite ``Q``.

    A ``Q`` has one coordinate more than dimensions; ``Q{dim},1`` and ``Q0,{dim + 1}`` are ``H{dim}`` and ``S{dim}``.

    Args:
        dim: Number of free dimensions, at least 2.
    """
    indefinite = [f"Q{dim + 1 - t},{t}" for t in range(2, _checked(dim) + 1)]
    return [f"E{dim}", f"H{dim}", f"S{dim}", *_products(dim), *indefinite]


def _products(dim: int) -> list[str]:
    half = dim // 2
    return [f"H{half}xH{dim - half}", f"H{half}xS{dim - half}", f"S{half}xS{dim - half}"]


def _checked(dim: int) -> int:
    if dim < 2:
        raise ValueError(f"dim must be at least 2, got {dim}")
    return dim
