"""The log of validations: what is appended, dropped and read."""

import json

import pytest

from qgcn.seals import Damaged
from qgcn.training.loop import Validation
from qgcn.training.metrics_log import Curve, MetricsLog, read_curves


def found(epoch, loss, score, active=(True, True)):
    return Validation(epoch, list(loss), list(score), [max(score)] * 2, list(active))


def test_each_seed_in_training_gets_a_line(tmp_path):
    log = MetricsLog(tmp_path / "m.jsonl", [3, 4], 0)
    log.write(found(1, (0.5, 0.6), (0.1, 0.2)))
    log.write(found(2, (0.4, 0.5), (0.3, 0.2), (True, False)))
    lines = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text().splitlines()]
    assert [(line["seed"], line["epoch"], line["loss"], line["score"]) for line in lines] == [
        (3, 1, 0.5, 0.1),
        (4, 1, 0.6, 0.2),
        (3, 2, 0.4, 0.3),
    ]
    assert read_curves(tmp_path / "m.jsonl") == [Curve(3, [1, 2], [0.5, 0.4], [0.1, 0.3]), Curve(4, [1], [0.6], [0.2])]


def test_what_came_after_the_checkpoint_is_dropped_for_the_group_alone(tmp_path):
    path = tmp_path / "m.jsonl"
    for seeds in ([0, 1], [2, 3]):
        log = MetricsLog(path, seeds, 0)
        for epoch in (1, 2, 3):
            log.write(found(epoch, (0.5, 0.6), (0.1, 0.2)))
    MetricsLog(path, [2, 3], 1)
    assert {curve.seed: curve.epoch for curve in read_curves(path)} == {0: [1, 2, 3], 1: [1, 2, 3], 2: [1], 3: [1]}


def test_half_a_line_is_left_out(tmp_path):
    path = tmp_path / "m.jsonl"
    MetricsLog(path, [0, 1], 0).write(found(1, (0.5, 0.6), (0.1, 0.2)))
    whole = path.read_text()
    path.write_text(whole + '{"seed": 0, "epoch": 2, "loss": 0.1, "sco')
    assert [curve.epoch for curve in read_curves(path)] == [[1], [1]]
    MetricsLog(path, [7], 0)
    assert path.read_text() == whole


def logged(path, epochs=4):
    log = MetricsLog(path, [0, 1], 0)
    for epoch in range(1, epochs + 1):
        log.write(found(epoch, (0.5 / epoch, 0.6), (0.1, 0.2)))
    return log


def test_a_line_may_end_anywhere_but_what_was_written_before_is_kept(tmp_path):
    path = tmp_path / "m.jsonl"
    logged(path, 2)
    whole = path.read_bytes()
    before = len(whole[: whole[:-1].rindex(b"\n") + 1])
    for end in range(before, len(whole) + 1):
        path.write_bytes(whole[:end])
        complete = end >= len(whole) - 1
        assert [curve.epoch for curve in read_curves(path)] == [[1, 2], [1, 2] if complete else [1]]
        MetricsLog(path, [7], 0)
        assert path.read_bytes() == (whole if complete else whole[:before])


def test_every_flipped_bit_before_the_line_that_was_being_written_is_noticed(tmp_path):
    path = tmp_path / "m.jsonl"
    check = logged(path, 2).check
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])
            with pytest.raises(Damaged, match=r"m\.jsonl is damaged: "):
                read_curves(path, check)
            with pytest.raises(Damaged, match=r"m\.jsonl is damaged: "):
                read_curves(path)


def test_lines_that_are_missing_are_noticed(tmp_path):
    path = tmp_path / "m.jsonl"
    log = logged(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for place in range(len(lines)):
        path.write_bytes(b"".join(lines[:place] + lines[place + 1 :]))
        with pytest.raises(Damaged, match=r"m\.jsonl is damaged: "):
            read_curves(path, log.check)
    path.write_bytes(b"".join(lines[:-2]))
    assert [curve.epoch for curve in read_curves(path)] == [[1, 2, 3]] * 2  # nobody has said how many there were
    with pytest.raises(Damaged, match="it lacks validations of seed 0 before epoch 4"):
        MetricsLog(path, [0, 1], 4, log.digest)
    path.write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
    with pytest.raises(Damaged, match="line 1 does not match its checksum"):
        read_curves(path)


def test_a_checkpoint_knows_the_lines_of_its_group_whatever_comes_after_it(tmp_path):
    path = tmp_path / "m.jsonl"
    digest = logged(path, 2).digest
    logged(path, 4)
    MetricsLog(path, [2, 3], 0).write(found(1, (0.5, 0.6), (0.1, 0.2)))
    assert MetricsLog(path, [0, 1], 2, digest).digest == digest
    assert {curve.seed: curve.epoch for curve in read_curves(path)} == {0: [1, 2], 1: [1, 2], 2: [1], 3: [1]}


def test_a_group_that_begins_again_leaves_the_file_as_if_it_had_not(tmp_path):
    path = tmp_path / "m.jsonl"
    logged(path)
    digest = MetricsLog(path, [2, 3], 0).digest
    MetricsLog(path, [2, 3], 0).write(found(1, (0.5, 0.6), (0.1, 0.2)))
    whole = path.read_bytes()
    logged(path)  # after those of seeds 2 and 3
    assert path.read_bytes() != whole
    log = MetricsLog(path, [2, 3], 1)
    assert path.read_bytes() == whole
    assert log.digest != digest


def test_a_log_that_is_not_there_has_no_curves(tmp_path):
    assert read_curves(tmp_path / "none.jsonl") == []


def test_checksums_are_those_of_files_that_were_written_before(tmp_path):
    """The format of a line is a promise: files of earlier versions must be read, and are extended."""
    path = tmp_path / "m.jsonl"
    MetricsLog(path, [0, 1], 0).write(found(1, (0.5, 0.6), (0.1, 0.2)))
    assert [json.loads(line)["check"] for line in path.read_text().splitlines()] == ["2594c8c6a2344faa", "57ad87fd143ff13d"]
