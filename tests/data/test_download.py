import contextlib
import hashlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from qgcn.data.download import _receive, download

BODY = b"0,1\n1,2\n" * 20_000
SHA256 = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/missing":
            self.send_error(404)
            return
        if self.path in ("/moved", "/to-ftp", "/to-file"):
            self.send_response(302)
            target = {"/moved": "/file", "/to-ftp": "ftp://127.0.0.1/file", "/to-file": "file:///etc/hostname"}
            self.send_header("Location", target[self.path])
            self.end_headers()
            return
        self.send_response(200)
        if self.path != "/unmeasured":
            self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        if self.path == "/silent":
            self.server.released.wait(20)
        elif self.path == "/truncated":
            self.wfile.write(BODY[:1000])
        elif self.path == "/interrupted":
            self.wfile.write(BODY[:100_000])
            self.wfile.flush()
            # closing with a zero linger time resets the connection, as a crashed server would
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.connection.close()
        elif self.path == "/wrong":
            self.wfile.write(BODY[::-1])
        else:
            self.wfile.write(BODY)

    def log_message(self, *arguments):
        pass

    def finish(self):
        with contextlib.suppress(OSError):  # the connection was closed on purpose
            super().finish()


@pytest.fixture(scope="module")
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None
    server.released = threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("path", ["file", "unmeasured", "moved"])
def test_file_arrives_whole(server, tmp_path, path):
    target = tmp_path / "a" / "b" / "file.csv"
    download(f"{server}/{path}", target, SHA256)
    assert target.read_bytes() == BODY
    assert [item.name for item in target.parent.iterdir()] == ["file.csv"]
    assert target.stat().st_mode & 0o444 == 0o444  # readable by others, as far as the umask lets it


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("missing", OSError, "/missing: the server answers 404 Not Found$"),
        ("truncated", OSError, f"/truncated: .*1000 .*{len(BODY)}?"),
        ("interrupted", OSError, "/interrupted: .* after [0-9]+ "),
        ("wrong", ValueError, f"/wrong is not the expected file: its SHA-256 is [0-9a-f]{{64}}, not {SHA256}$"),
        ("silent", OSError, "/silent: no answer for 0.3 s$"),
        ("to-ftp", OSError, "/to-ftp: unknown url type: ftp$"),
        ("to-file", OSError, "/to-file: the server answers 302 "),
    ],
)
@pytest.mark.parametrize("present", [False, True])
def test_failure_leaves_nothing_half_written(server, tmp_path, path, kind, message, present):
    target = tmp_path / "file.csv"
    if present:
        target.write_bytes(b"older")
    with pytest.raises(kind, match=message) as caught:
        download(f"{server}/{path}", target, SHA256, timeout=0.3 if path == "silent" else 10)
    assert "\n" not in str(caught.value)
    assert [item.name for item in tmp_path.iterdir()] == ["file.csv"] * present
    assert not present or target.read_bytes() == b"older"


def test_unreachable_server_is_named(tmp_path):
    with socket.socket() as taken:  # bound and not listening: nothing answers, and nobody else takes the port
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/file"
        with pytest.raises(OSError, match=f"^cannot download {url}: .*refused"):
            download(url, tmp_path / "file.csv", SHA256, timeout=5)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_named(server, tmp_path):
    # a file where the folder should be: refused to everyone, the superuser included
    (tmp_path / "folder").write_text("")
    with pytest.raises(OSError, match=f"^cannot write {tmp_path}/folder/file.csv: "):
        download(f"{server}/file", tmp_path / "folder" / "file.csv", SHA256)
    assert [item.name for item in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/a", "/etc/hostname", "data:text/plain,a"])
def test_only_http_is_spoken(tmp_path, url):
    with pytest.raises(ValueError, match="only http and https"):
        download(url, tmp_path / "file", SHA256)
    assert list(tmp_path.iterdir()) == []


def test_interrupt_leaves_nothing(server, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("qgcn.data.download._write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        download(f"{server}/file", tmp_path / "file", SHA256)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_full_disk_is_named(server):
    expected = pytest.raises(OSError, match=r"^cannot write /dev/full: No space left on device$")
    with Path("/dev/full").open("wb", buffering=0) as full, expected:
        _receive(f"{server}/file", full, 5.0, False, "file")
