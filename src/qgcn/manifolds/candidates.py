"""The spaces that are compared when one is to be chosen."""

__all__ = ["spaces_of_dimension", "spacetimes_of_dimension"]


def spaces_of_dimension(dim: int, *, few: bool = False, twins: bool = False) -> list[str]:
    """Return the spaces of ``dim`` free dimensions: flat, hyperbolic, spherical, products, and every indefinite ``Q``.

    A ``Q`` has one coordinate more than dimensions: beside ``E10``, ``H10`` and ``S10`` stands ``Q7,4``.

    Example:
        >>> from qgcn.manifolds import spaces_of_dimension
        >>> spaces_of_dimension(3, few=True)
        ['E3', 'H3', 'S3', 'H1xS2', 'Q2,2', 'Q1,3']

    Args:
        dim: Number of free dimensions, at least 2.
        few: Some of each kind: one product, and ``Q`` with 2, 4, 8, ... and with ``dim`` time coordinates.
        twins: Also ``Q{dim},1`` and ``Q0,{dim + 1}``. They are ``H{dim}`` and ``S{dim}`` with other maps, with which a network
            learns something else.
    """
    if dim < 2:
        raise ValueError(f"dim must be at least 2, got {dim}")
    half = dim // 2
    products = [f"H{half}xH{dim - half}", f"H{half}xS{dim - half}", f"S{half}xS{dim - half}"]
    times = [t for t in range(2, dim + 1) if not few or t.bit_count() == 1 or t == dim]
    found = [f"E{dim}", f"H{dim}", f"S{dim}", *(products[1:2] if few else products), *(f"Q{dim + 1 - t},{t}" for t in times)]
    return [*found, f"Q{dim},1", f"Q0,{dim + 1}"] if twins else found


def spacetimes_of_dimension(dim: int) -> list[str]:
    """Return the spacetimes of ``dim`` dimensions: flat, anti-de Sitter, de Sitter, time beside hyperbolic space or a sphere.

    Example:
        >>> from qgcn.manifolds import spacetimes_of_dimension
        >>> spacetimes_of_dimension(4)
        ['M4', 'AdS4', 'dS4', 'M1xH3', 'M1xS3']

    Args:
        dim: Number of dimensions, at least 2.
    """
    if dim < 2:
        raise ValueError(f"dim must be at least 2, got {dim}")
    return [f"M{dim}", f"AdS{dim}", f"dS{dim}", f"M1xH{dim - 1}", f"M1xS{dim - 1}"]
