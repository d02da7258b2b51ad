import pytest
import torch

from qgcn.training.threads import SMALL, few_threads


@pytest.mark.parametrize(("nodes", "inside"), [(SMALL, 1), (SMALL + 1, 2)])
def test_something_small_is_computed_by_one_thread(nodes, inside):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with few_threads(nodes):
            assert torch.get_num_threads() == inside
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
