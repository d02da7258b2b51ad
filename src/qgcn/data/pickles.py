"""Read the pickles in which some data sets are published, and nothing else.

A pickle is a program. The ones read here must first match a pinned SHA-256; even then they may name only what those very files
name, and of that only arrays, dictionaries and lists are real. Matrices and graphs become :class:`Holder`, which does nothing.
"""

import collections
import io
import pickle
import pickletools
from typing import Any

import numpy as np

__all__ = ["Holder", "read_pickle"]


class Holder:
    """Stands for a pickled object: carries its attributes, has no behaviour."""


def _dtype(code: str, *_: object) -> "np.dtype[Any]":
    # the files pass 0 and 1 for the flags `align` and `copy`, which NumPy no longer takes for booleans
    return np.dtype(code)


_ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],  # where it lives depends on NumPy's version
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("scipy.sparse.csr", "csr_matrix"): Holder,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("builtins", "dict"): dict,
    ("networkx.classes.graph", "Graph"): Holder,
    ("networkx.classes.reportviews", "NodeView"): Holder,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def read_pickle(content: bytes, what: str) -> Any:
    """Read a pickle that holds nothing but arrays, lists, dictionaries, sparse matrices and graphs.

    Args:
        content: The pickle, whose checksum the caller has compared.
        what: How to call it in an error.

    Raises:
        ValueError: It names anything else, or is no pickle.
    """
    try:
        _check_memo(content)
        return _Unpickler(io.BytesIO(content), fix_imports=False, encoding="latin1").load()
    except Exception as error:  # a damaged pickle raises nearly anything
        raise ValueError(f"{what} is refused as a pickle: {' '.join(str(error).split())}") from None


def _check_memo(content: bytes) -> None:
    """Raise if an object is kept under a number beyond the size of the file, for which Python would make room."""
    for operation, number, _ in pickletools.genops(content):
        if operation.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(number or 0) > len(content):
            raise pickle.UnpicklingError(f"it keeps an object under number {number}")
