"""Numbers written in text, read from many fields at once: a pass over all fields for each digit, not a call for each field."""

from typing import Any

import numpy as np

from qgcn.data.assemble import Array, Floats
from qgcn.data.pairs import Ints

__all__ = ["parse_numbers", "read_decimals", "read_integers"]

_MOST_DIGITS = 19  # of 64 bits; such a number may be too large for int64, but not for uint64
_EXACT_DIGITS = 15  # whole numbers of so many digits, and the power of ten they are divided by, are exact in float64
_ZERO, _MINUS, _POINT = ord("0"), ord("-"), ord(".")
_TENS = 10.0 ** np.arange(_EXACT_DIGITS + 1)


def read_integers(chars: Array, begins: Ints, stops: Ints) -> Ints | None:
    """Return the integers that fields are, or nothing if one is not a plainly written integer of 64 bits.

    Plainly written is what ``str`` writes of an integer: ``007``, ``+7`` and ``7.0`` are not.

    Args:
        chars: The text, uint8.
        begins: Where each field begins, shape ``(R,)``.
        stops: Where it stops, shape ``(R,)``.
    """
    if len(begins) == 0:
        return None
    lengths = stops - begins
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest < 1 or longest > _MOST_DIGITS + 1:
        return None
    first = chars[begins]
    negative = first == _MINUS
    signed = bool(negative.any())
    if signed:
        lengths = lengths - negative
        first = chars[np.minimum(begins + negative, stops - 1)]
        shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest < 1 or longest > _MOST_DIGITS or ((first == _ZERO) & (lengths > 1)).any():
        return None
    large = longest == _MOST_DIGITS
    value: Array = np.zeros(len(lengths), dtype=np.uint64 if large else np.int64)
    place = stops - 1
    for k in range(longest):
        digit = chars[np.maximum(place, 0)] - np.uint8(_ZERO)  # wraps around below "0"
        if k >= shortest:
            digit *= lengths > k
        if digit.max() > 9:
            return None
        value += digit * value.dtype.type(10**k)
        place -= 1
    if large:
        if (value > np.uint64(2**63 - 1) + negative).any():
            return None
        value = value.view(np.int64)  # of -2**63, which is its own negative
    return np.where(negative, -value, value) if signed else value


def read_decimals(chars: Array, begins: Ints, stops: Ints) -> tuple[Floats, Any]:
    """Return the numbers that fields are, and which of them were read: those of at most 15 digits without an exponent.

    Law: what is read equals ``float(field)``: a whole number and a power of ten, both exact, are divided, which rounds once.

    Args:
        chars: The text, uint8.
        begins: Where each field begins, shape ``(R,)``.
        stops: Where it stops, shape ``(R,)``.

    Returns:
        Numbers, float64, and whether each was read, bool, both of shape ``(R,)``.
    """
    number, plain = np.zeros(len(begins)), stops > begins
    if not plain.any():
        return number, plain
    negative = plain & (chars[np.minimum(begins, len(chars) - 1)] == _MINUS)
    place = begins + negative
    digits, decimals = np.zeros(len(begins), dtype=np.int64), np.zeros(len(begins), dtype=np.int64)
    pointed = np.zeros(len(begins), dtype=bool)
    for _ in range(min(int((stops - place).max()), _EXACT_DIGITS + 1)):
        inside = place < stops
        char = chars[np.minimum(place, len(chars) - 1)]
        digit = char - np.uint8(_ZERO)
        is_digit, is_point = inside & (digit < 10), inside & (char == _POINT) & ~pointed
        plain &= ~inside | is_digit | is_point
        number = np.where(is_digit, number * 10 + digit, number)
        digits += is_digit
        decimals += is_digit & pointed
        pointed |= is_point
        place += 1
    plain &= (place >= stops) & (digits > 0) & (digits <= _EXACT_DIGITS)
    number /= _TENS[np.minimum(decimals, _EXACT_DIGITS)]
    return np.where(negative, -number, number), plain


def parse_numbers(fields: Array) -> Floats:
    """Return fields as float64, as Python reads them but for underscores: ``1_0`` is no number.

    Args:
        fields: UTF-8 text, NumPy bytes of shape ``(R,)``.

    Raises:
        ValueError: A field is no number.
    """
    if (np.ascontiguousarray(fields).view(np.uint8) == ord("_")).any():
        raise ValueError("a number must not hold an underscore")
    return fields.astype(np.float64)
