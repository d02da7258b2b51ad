"""Seals: no bit of a file changes unnoticed."""

import json
import os

import numpy as np
import pytest

from qgcn.seals import BLANK, VERSION, Damaged, Unsealed, read_sealed, seal, seal_archive, unseal


def archive():
    return seal_archive(lambda file: np.savez_compressed(file, a=np.arange(20), b=np.array(BLANK)))


FILES = {
    "yaml": seal(f"# {BLANK}\nlr: 0.1\ndata: {BLANK}\n".encode()),
    "json": seal(json.dumps({"seal": BLANK, "a": [1, 2]}).encode()),
    "npz": archive(),
}


@pytest.mark.parametrize("kind", FILES)
def test_what_is_sealed_is_read_back(tmp_path, kind):
    (tmp_path / "file").write_bytes(FILES[kind])
    assert read_sealed(tmp_path / "file") == FILES[kind]
    assert unseal(FILES[kind], "it") == FILES[kind]


@pytest.mark.parametrize("kind", FILES)
def test_every_flipped_bit_is_noticed(kind):
    for place in range(len(FILES[kind])):
        for bit in range(8):
            content = bytearray(FILES[kind])
            content[place] ^= 1 << bit
            with pytest.raises(Damaged, match=r"^it "):
                unseal(bytes(content), "it")


@pytest.mark.parametrize("kind", FILES)
def test_every_missing_or_further_byte_is_noticed(kind):
    whole = FILES[kind]
    for content in [*(whole[:end] for end in range(len(whole))), whole + b"\n", whole + whole, b"\n" + whole]:
        with pytest.raises(Damaged):
            unseal(content, "it")


def test_a_sealed_archive_is_read_by_numpy(tmp_path):
    (tmp_path / "file.npz").write_bytes(archive())
    with np.load(tmp_path / "file.npz", allow_pickle=False) as content:
        assert content["a"].tolist() == list(range(20))
    assert archive() == archive()


def test_another_version_is_told_from_damage():
    import hashlib

    text = f"# {BLANK}\n".replace(f"qgcn-file {VERSION}", "qgcn-file 7")
    later = text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest())
    with pytest.raises(
        Unsealed, match=f"^it was written by another version of qgcn: its format is 7, this one reads {VERSION}$"
    ):
        unseal(later.encode(), "it")
    with pytest.raises(Unsealed, match=r"^it has no checksum: it is damaged, or was written by an earlier version of qgcn$"):
        unseal(b"lr: 0.1\n", "it")


def test_what_has_no_room_for_a_seal_is_not_sealed():
    for content in (b"", b"lr: 0.1", FILES["json"], b"PK\x03\x04" + BLANK.encode() + b"more"):
        with pytest.raises(ValueError, match="needs a blank seal"):
            seal(content)


def test_what_could_be_read_forever_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is a pipe or a device, not a file"):
        read_sealed(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match=r"^no file .*none$"):
        read_sealed(tmp_path / "none")
