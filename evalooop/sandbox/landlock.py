"""The weaker sandbox, for systems that allow no namespaces: the same zygote, held back by Landlock alone.

A program then shares the machine's process ids and names of files with everyone: it can learn that a file exists,
though not what is in it, and read what this module lists. Everything else of the sandbox is as before: no file to
write, no network, no processes, limits, and expected values that never enter.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from evalooop.sandbox import bubblewrap

PACKAGES = ("site-packages", "dist-packages")


@cache
def command(descriptor: int) -> tuple[str, ...]:
    """Return the command that starts a zygote which may read the libraries and this Python, and nothing else.

    Args:
        descriptor: number of the control socket, inherited by the zygote.

    Raises:
        UserError: this is not Linux on x86-64.
    """
    bubblewrap.check_platform()
    python = str(Path(sys._base_executable).resolve())
    zygote = str(bubblewrap.INSIDE / "zygote.py")
    readable = dict.fromkeys(str(path) for path in _readable() if path.exists())
    return (python, *bubblewrap.PYTHON_OPTIONS, zygote, str(descriptor), *readable)


def environment() -> dict[str, str]:
    """Return the zygote's environment: a fixed hash seed, and where this Python keeps its libraries."""
    return {"PYTHONHASHSEED": "0", "LD_LIBRARY_PATH": f"{sys.base_prefix}/lib"}


def _readable() -> Iterator[Path]:
    """Yield what programs may read. Installed packages are left out: data sets may be among them."""
    yield from map(Path, (*bubblewrap.DEVICES, *bubblewrap.SYSTEM_DATA, "/etc/ld.so.cache"))
    for folder in {Path(path).resolve() for path in bubblewrap.SYSTEM_LIBRARIES if Path(path).is_dir()}:
        yield from (path.resolve() for path in folder.iterdir() if not path.name.startswith("python"))
    yield from (path.resolve() for path in Path(sys.base_prefix, "lib").glob("*.so*"))
    standard = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix})).resolve()
    yield from (path for path in standard.iterdir() if path.name not in PACKAGES)
