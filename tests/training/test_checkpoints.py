"""The last state of a group, and the one before it."""

import pytest
import torch

from qgcn.files import save_tensors
from qgcn.seals import Damaged
from qgcn.training.checkpoints import Checkpoint, Incomplete


def saved(path, *epochs):
    checkpoint = Checkpoint(path)
    for epoch in epochs:
        checkpoint.save({"best/w": torch.full((2, 3), float(epoch))}, {"seeds": [4, 5], "epoch": epoch})
    return checkpoint


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_the_last_two_states_are_kept(tmp_path):
    checkpoint = saved(tmp_path / "seeds-4-5.safetensors", 1, 2, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seeds-4-5.previous.safetensors", "seeds-4-5.safetensors"]
    assert checkpoint.load().epoch == 3
    assert checkpoint.load().remark is None
    assert checkpoint.load().seeds == [4, 5]
    assert {name: tensor.tolist() for name, tensor in checkpoint.load().best(5).items()} == {"w": [3.0] * 3}
    assert Checkpoint(tmp_path / "none.safetensors").load() is None


def test_a_damaged_state_gives_way_to_the_one_before_it(tmp_path):
    checkpoint = saved(tmp_path / "seeds-4-5.safetensors", 1, 2)
    flip(checkpoint.path)
    found = checkpoint.load()
    assert found.epoch == 1
    assert found.path == checkpoint.earlier
    assert "seeds-4-5.safetensors is damaged: it does not match its checksum; its place is taken by " in found.remark
    assert found.remark.endswith("seeds-4-5.previous.safetensors, of epoch 1")
    assert checkpoint.recover().path == checkpoint.path
    checkpoint.save({}, {"seeds": [4, 5], "epoch": 3})
    assert Checkpoint(checkpoint.earlier).load().epoch == 1, "what was damaged has taken the place of what was not"


def test_if_both_are_damaged_the_way_out_is_told(tmp_path):
    checkpoint = saved(tmp_path / "seed-4.safetensors", 1, 2)
    for path in (checkpoint.path, checkpoint.earlier):
        flip(path)
    both = r"seed-4.safetensors is damaged: .* delete .*seed-4.safetensors and .*seed-4.previous.safetensors to train its seeds"
    with pytest.raises(Damaged, match=both):
        checkpoint.load()
    checkpoint.path.unlink()
    with pytest.raises(Damaged, match=r"delete [^ ]*seed-4.previous.safetensors to train its seeds from the beginning"):
        checkpoint.load()


def test_a_state_that_names_a_damaged_file_gives_way_to_the_one_before_it(tmp_path):
    checkpoint, tried = saved(tmp_path / "seed-4.safetensors", 1, 2), []

    def restore(found, worst=2):
        tried.append(found.epoch)
        if found.epoch >= worst:
            raise Incomplete(f"{found.path.name} cannot be restored: a file is gone")

    with pytest.raises(
        Damaged, match=r"^seed-4.safetensors cannot be restored: a file is gone; .* delete .*seed-4.safetensors and"
    ):
        checkpoint.recover(lambda found: restore(found, 1))
    assert checkpoint.load().epoch == 2, "a state was removed that nothing has taken the place of"
    found = checkpoint.recover(restore)
    assert (found.epoch, found.path, tried) == (1, checkpoint.path, [2, 1, 2, 1])
    assert found.remark == (
        "seed-4.safetensors cannot be restored: a file is gone; its place is taken by seed-4.previous.safetensors, of epoch 1"
    )
    assert not checkpoint.earlier.exists()


def test_a_kill_between_both_files_loses_nothing(tmp_path):
    checkpoint = saved(tmp_path / "seed-4.safetensors", 1)
    checkpoint.path.replace(checkpoint.earlier)
    assert (checkpoint.load().epoch, checkpoint.load().remark) == (1, None)
    assert [each.path.name for each in Checkpoint.all_in(tmp_path)] == ["seed-4.safetensors"]
    assert checkpoint.recover().path == checkpoint.path


@pytest.mark.parametrize(
    "about", [{}, {"epoch": -1}, {"epoch": True}, {"epoch": 1e999}, {"seeds": 3}, {"seeds": []}, {"seeds": ["a"]}]
)
def test_what_a_state_says_about_itself_is_checked(tmp_path, about):
    save_tensors(tmp_path / "seed-4.safetensors", {}, about)
    found = Checkpoint(tmp_path / "seed-4.safetensors").load()
    with pytest.raises(Damaged, match=r"seed-4\.safetensors is damaged"):
        print(found.epoch, found.seeds)


def test_best_parameters_of_too_few_seeds_are_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "seeds-4-5.safetensors")
    checkpoint.save({"best/w": torch.zeros(1, 3)}, {"seeds": [4, 5], "epoch": 1})
    with pytest.raises(Damaged, match="best/w is not of 2 seeds"):
        checkpoint.load().best(5)
