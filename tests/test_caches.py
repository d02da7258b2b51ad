import pytest

from qgcn.caches import user_cache
from qgcn.data.catalogue import data_root


def test_the_cache_is_the_folder_named_or_that_of_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert user_cache() == tmp_path / "cache" / "qgcn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert user_cache() == tmp_path / "home" / ".cache" / "qgcn"


@pytest.mark.parametrize("value", ["cache", "./cache", "", "~/cache"])
def test_a_relative_cache_folder_is_ignored(tmp_path, monkeypatch, value):
    """It would be another one in every folder, perhaps somebody else's."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.delenv("QGCN_DATA", raising=False)
    assert user_cache() == data_root() == tmp_path / "home" / ".cache" / "qgcn"
