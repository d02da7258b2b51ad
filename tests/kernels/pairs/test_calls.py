"""Arguments of compiled functions: columns by coordinate, longer than they are, and threads by the number of pairs."""

import torch

from qgcn.kernels.pairs.calls import Call, energy_arguments, threads_of
from qgcn.kernels.pairs.points import Energy, Points


def test_coordinates_are_laid_out_one_after_the_other_and_padded():
    x = torch.arange(80.0).reshape(40, 2)
    call = Call(Points(x, torch.full((40, 1), 2.0), torch.ones(1), ((0, 2, 0),)))
    coordinates, reach = call.by_coordinate
    assert call.stride == 64
    assert torch.equal(coordinates[:, :40], x.T)
    assert (coordinates[:, 40:] == 0).all()
    assert torch.equal(reach[:, :40], torch.tensor([[2.0], [0.5]]).expand(2, 40))
    assert (reach[:, 40:] == 1).all()


def test_threads_are_worth_starting():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert [threads_of(pairs).value for pairs in (0, 2**16, 2**17, 2**30)] == [1, 1, 2, 2]
    finally:
        torch.set_num_threads(before)


def test_the_energy_is_a_factor_and_a_power():
    tau, squared = energy_arguments(Energy(torch.tensor(1.5), True))
    assert (tau.value, squared.value) == (1.5, 1)
