"""Plain attention against a dense softmax in float64, values and gradients, and a run of rows at a time."""

from functools import partial

import pytest

from attending import KINDS, SPACES, attention, case, close, solved
from qgcn.kernels import backend
from qgcn.kernels.attention import attend, reference


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SPACES)
def test_plain_attention_is_the_softmax(name, kind):
    given = case(name)
    close(solved(partial(attend, energy=kind), *given), solved(partial(attention, kind=kind), *given), 1e-6)
    assert backend() == "eager"


@pytest.mark.parametrize("name", ["E4", "K4", "Q2,2"])
def test_runs_of_rows_are_all_rows(monkeypatch, name):
    space, given, back = case(name)
    whole = solved(attend, space, given, back)
    monkeypatch.setattr(reference, "CHUNK_ENTRIES", 4 * 70 * 8)
    close(solved(attend, space, given, back), whole, 1e-12)
