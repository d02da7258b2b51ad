"""Functions with a gradient of their own, whether one is asked for, and functions that compilers need not trace."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor
from torch.autograd import Function

__all__ = ["apply", "assumed_constant", "recorded", "settled", "transformed", "under_transform"]

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def apply(function: type[Function], *arguments: Any) -> Any:
    """Apply a function with a gradient of its own; where none is asked for, without the cost of recording it."""
    return function.apply(*arguments) if recorded(*arguments) else function.forward(*arguments)


def recorded(*arguments: Any) -> bool:
    """Tell whether derivatives with respect to some of the arguments may be asked for."""
    asked = torch.is_grad_enabled() and any(isinstance(each, Tensor) and each.requires_grad for each in arguments)
    return asked or transformed()


def transformed() -> bool:
    """Tell whether someone else takes the derivatives: a compiler, or ``torch.func``."""
    return torch.compiler.is_compiling() or under_transform()


def under_transform() -> bool:
    """Tell whether a transform of ``torch.func`` is at work: tensors do not say then whether a gradient is asked for."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None


def settled(result: Tensor) -> Tensor:
    """Return a result that was changed in place, as a compiler needs it.

    A function with a gradient of its own that returns such a tensor has a zero gradient when PyTorch 2.11 compiles it. A
    compiler merges the copy with the operation before it.
    """
    return result.clone() if torch.compiler.is_compiling() else result


def assumed_constant(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Let compilers take the result of a function as a constant, as ``torch.compiler.assume_constant_result`` does.

    PyTorch's own decorator imports its compiler, which takes longer than all of this package.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function
