"""The log of validations: what is appended, dropped and read."""

import json

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


def test_a_log_that_is_not_there_has_no_curves(tmp_path):
    assert read_curves(tmp_path / "none.jsonl") == []
