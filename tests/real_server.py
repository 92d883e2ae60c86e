"""A real server on loopback: ``transformers serve``, which loads whatever folder it is asked for."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

can_serve = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("fastapi", "uvicorn"))),
    reason="transformers serve needs fastapi and uvicorn: pip install -e .[dev]",
)


@contextmanager
def transformers_serve() -> Iterator[str]:
    """Start the server on a free port, wait until it answers, and give its address; float32, on the CPU."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    options = ("--host", "127.0.0.1", "--port", port, "--device", "cpu", "--dtype", "float32")
    process = subprocess.Popen(
        [sys.executable, "-m", "transformers.cli.transformers", "serve", *options],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def _wait_for(address: str, process: subprocess.Popen, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            return urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.2)
