"""Studies: what is tried next, what is lost, what is kept."""

import pytest
from optuna.distributions import FloatDistribution
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import OperationalError

from qgcn.seals import Damaged
from qgcn.sweeping import study as module
from qgcn.sweeping.candidates import parse_candidate
from qgcn.sweeping.evaluation import Outcome
from qgcn.sweeping.journal import Journal
from qgcn.sweeping.study import ATTEMPTS, STARTUP, CandidateStudy, close_storage, open_storage, storage_errors

FIXED = {"task": "links", "data": "stochastic-block", "epochs": 3}


OPEN = []


@pytest.fixture(autouse=True)
def closed():
    yield
    while OPEN:
        close_storage(OPEN.pop())


def study_in(folder, name="qgcn:Q3,1", *, url=None, origin=None):
    storage = open_storage(folder, url)
    OPEN.append(storage)
    return CandidateStudy(parse_candidate(name, FIXED), storage, origin or {}, seed=0, prune=True, alone=url is None)


def finish(study, limit):
    drawn = []
    while (trial := study.begin(limit)) is not None:
        drawn.append(trial.params)
        study.end(trial, Outcome("complete", [trial.params["dropout"]]))
    return drawn


def test_all_models_begin_alike(tmp_path):
    qgcn, gcn = (finish(study_in(tmp_path, name), 3) for name in ("qgcn:Q3,1", "gcn:E4"))
    assert [{name: each[name] for name in gcn[0]} for each in qgcn] == gcn


@pytest.mark.parametrize("url", [None, "sqlite:///{}/trials.db"])
def test_a_trial_that_was_left_is_tried_again(tmp_path, url, monkeypatch):
    url = url and url.format(tmp_path)
    (tmp_path / "whole").mkdir()
    whole = finish(study_in(tmp_path / "whole"), STARTUP + 2)
    study = study_in(tmp_path, url=url)
    first = finish(study, 1)
    study._owner = f"{study._owner.rpartition(' ')[0]} {2**22 + 1}"  # no process has this number
    left = study.begin(5)
    again = study_in(tmp_path, url=url)
    assert again.recover() == 1
    rest = finish(again, STARTUP + 2)
    assert rest[0] == left.params
    assert first + rest == whole


def test_a_living_trial_is_left_alone(tmp_path):
    url = f"sqlite:///{tmp_path}/trials.db"
    study_in(tmp_path, url=url).begin(5)
    assert study_in(tmp_path, url=url).recover() == 0


def test_a_trial_that_kills_is_left_alone_in_the_end(tmp_path):
    study = study_in(tmp_path)
    for _ in range(ATTEMPTS):
        study.lose(study.begin(1))
    assert study.begin(1) is None
    assert [each.user_attrs["outcome"] for each in study.finished()] == ["failed"]


def test_half_a_line_is_left_out(tmp_path):
    finish(study_in(tmp_path), 2)
    with (tmp_path / "journal.log").open("ab") as file:
        file.write(b'{"op_code":')
    assert len(finish(study_in(tmp_path), 3)) == 1
    assert finish(study_in(tmp_path), 3) == []


def test_other_settings_are_refused(tmp_path):
    study_in(tmp_path, origin={"epochs": 3})
    with pytest.raises(ValueError, match="began with epochs = 3, but now it is 4"):
        study_in(tmp_path, origin={"epochs": 4})


def test_a_bad_url_is_one_line(tmp_path):
    with pytest.raises(ValueError, match="the storage cannot be opened"):
        open_storage(tmp_path, "nothing://here")


@pytest.mark.parametrize(("error", "told"), [(OSError("\n no disk\nat all"), "no disk"), (KeyError(), "KeyError")])
def test_what_is_wrong_with_a_storage_is_told_in_one_line(tmp_path, monkeypatch, error, told):
    def fail(url):
        raise error

    monkeypatch.setattr(module, "RDBStorage", fail)
    with pytest.raises(ValueError, match=f"^the storage cannot be opened: {told}$"):
        open_storage(tmp_path, "sqlite:///x.db")


def test_a_trial_is_given_up_once_five_before_it_have_done_better(tmp_path):
    study = study_in(tmp_path)
    for number in range(6):
        trial = study.begin(10)
        assert study.report(trial, 0, 0.9 - number / 10) == (number == 5)  # each is worse than all before it
        study.end(trial, Outcome("complete", [0.5]))
    assert not study.report(study.begin(10), 0, 0.8)


def test_memory_is_no_storage(tmp_path):
    for url in ("sqlite://", "sqlite:///:memory:"):
        with pytest.raises(ValueError, match="in memory only"):
            open_storage(tmp_path, url)


def test_lines_that_make_no_sense_are_named(tmp_path):
    Journal(tmp_path / "journal.log").append_logs([{"op_code": "x"}])
    with pytest.raises(Damaged, match=r"journal\.log is damaged: "):
        open_storage(tmp_path, None)


def about(study, trial, name, value):
    study._study._storage.set_trial_user_attr(trial._trial_id, name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("attempts", "x"), ("scores", "x"), ("scores", ["x"]), ("seconds", None), ("outcome", 3), ("alive", "x")],
)
def test_what_a_trial_says_of_itself_is_checked(tmp_path, name, value):
    study = study_in(tmp_path)
    about(study, study.begin(1), name, value)
    with pytest.raises(Damaged, match=r"trial 0 of qgcn:Q3,1 is damaged: its"):
        study_in(tmp_path)


def test_settings_that_are_not_searched_are_refused(tmp_path):
    study_in(tmp_path)._study.ask({"speed": FloatDistribution(0, 1)})
    with pytest.raises(Damaged, match="its setting 'speed' is none that is searched"):
        study_in(tmp_path)


def test_an_origin_is_keys_and_values(tmp_path):
    study_in(tmp_path)._study.set_user_attr("origin", "here")
    with pytest.raises(Damaged, match="does not say what it began with"):
        study_in(tmp_path)


def test_a_trial_that_others_took_for_lost_is_given_up(tmp_path):
    url = f"sqlite:///{tmp_path}/trials.db"
    slow, other = study_in(tmp_path, url=url), study_in(tmp_path, url=url)
    trial = slow.begin(1)
    other.lose(trial)
    slow.sign(trial)
    assert slow.report(trial, 1, 0.5)
    slow.end(trial, Outcome("complete", [0.5]))
    assert len(finish(other, 1)) == 1
    assert [each.value for each in slow.finished()] == [each.params["dropout"] for each in slow.finished()]


@pytest.mark.parametrize("error", [StorageInternalError("lost"), OperationalError("SELECT 1", {}, Exception("gone\naway"))])
def test_a_storage_that_fails_is_told_in_one_line(error):
    with pytest.raises(ValueError, match="the storage has failed") as told, storage_errors():
        raise error
    assert "\n" not in str(told.value)


def test_a_search_that_is_interrupted_loses_no_trial(tmp_path):
    study = study_in(tmp_path)
    settings = set()
    for _ in range(ATTEMPTS + 1):
        trial = study.begin(10)
        settings.add(repr(sorted(trial.params.items())))
        study.lose(trial, killed=False)
    assert len(settings) == 1
