import pytest
import torch

from qgcn.seals import Damaged
from qgcn.training.blocks import BlockStore


def block(value):
    return {"coordinates": torch.full((3, 2), float(value))}


def value(tensors):
    return tensors["coordinates"][0, 0].item()


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_state_is_what_was_put_and_can_be_gone_back_to(tmp_path, in_memory):
    store = BlockStore(tmp_path, "seed-0", in_memory=in_memory)
    for index in range(3):
        store.put(index, block(index))
    names = store.state()
    store.put(1, block(10))
    assert value(store.get(1)) == 10
    again = BlockStore(tmp_path, "seed-0", in_memory=in_memory)
    again.restore(names, [block(0)] * 3)
    assert [value(again.get(index)) for index in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("in_memory", [True, False])
def test_files_of_the_last_states_and_of_the_best_are_kept_and_no_others(tmp_path, in_memory):
    store = BlockStore(tmp_path, "seed-0", in_memory=in_memory)
    store.put(0, block(0))
    best = store.state()
    states = []
    for step in range(1, 6):
        store.put(0, block(step))
        states.append(store.state(*best))
    assert set(files(tmp_path)) == {*best, *states[-3], *states[-2], *states[-1]}
    assert value(store.read(best[0])) == 0


@pytest.mark.parametrize("in_memory", [True, False])
def test_after_a_restart_the_states_that_checkpoints_may_name_are_kept(tmp_path, in_memory):
    """While a state is written its checkpoint is not there yet: of those before it one is the last, one its substitute."""
    store, states = BlockStore(tmp_path, "seed-0", in_memory=in_memory), []
    for step in range(3):
        store.put(0, block(step))
        store.put(1, block(step))
        states.append(store.state(*(states[0] if states else [])))
    again = BlockStore(tmp_path, "seed-0", in_memory=in_memory)
    again.restore(states[-1], [block(0)] * 2, states[0])
    again.put(0, block(8))
    states.append(again.state(*states[0]))
    for names in (states[0], *states[-3:]):
        assert set(names) <= set(files(tmp_path))
    assert value(again.read(states[1][0])) == 1


def test_what_a_killed_process_has_left_is_removed_when_no_state_can_need_it(tmp_path):
    store = BlockStore(tmp_path, "seed-0", in_memory=False)
    store.put(0, block(0))
    names = store.state()
    store.put(0, block(1))  # and killed
    again = BlockStore(tmp_path, "seed-0", in_memory=False)
    again.restore(names, [block(0)])
    left = {name for name in files(tmp_path) if name not in names}
    assert len(left) == 1
    for step in range(4):
        again.put(0, block(step))
        again.state()
    assert not left & set(files(tmp_path))


def test_damage_and_loss_are_said_in_one_line(tmp_path):
    store = BlockStore(tmp_path, "seed-0", in_memory=False)
    store.put(0, block(0))
    (name,) = store.state()
    content = bytearray((tmp_path / name).read_bytes())
    content[-1] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Damaged, match="does not match its checksum"):
        store.get(0)
    (tmp_path / name).unlink()
    with pytest.raises(Damaged, match="is gone, which the checkpoint needs"):
        store.get(0)


def test_names_that_are_no_blocks_are_refused(tmp_path):
    store = BlockStore(tmp_path, "seed-0", in_memory=True)
    store.put(0, block(0))
    (name,) = store.state()
    for names in ([], [name, name], ["../x"], [3], ["seed-1-block-0-1.safetensors"], ["seed-0-block-0/../../x.safetensors"]):
        with pytest.raises(ValueError, match="the checkpoint must name a file for each of 1 blocks"):
            store.restore(names, [block(0)])
    with pytest.raises(ValueError, match="expected float32 in"):
        store.restore([name], [{"coordinates": torch.zeros(4, 2)}])


def test_without_a_folder_blocks_are_in_memory():
    store = BlockStore(None, "seed-0", in_memory=True)
    store.put(0, block(5))
    assert store.state() == []
    assert value(store.get(0)) == 5
    with pytest.raises(ValueError, match="store disk needs a folder"):
        BlockStore(None, "seed-0", in_memory=False)


@pytest.mark.parametrize("in_memory", [True, False])
def test_what_is_written_between_checkpoints_takes_no_file_of_theirs(tmp_path, in_memory):
    store = BlockStore(tmp_path, "seed-0", in_memory=in_memory)
    store.put(0, block(0))
    names, best = store.state(), list[str]()
    for step in range(1, 30):
        store.put(0, block(step))
        if step % 5 == 0:
            best = store.written()
    assert len(files(tmp_path)) <= 7  # one of the checkpoint, five that were the best, one that is new
    assert value(store.read(best[0])) == 25
    BlockStore(tmp_path, "seed-0", in_memory=in_memory).restore(names, [block(0)])
