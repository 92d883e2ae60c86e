"""The command line that builds the sandbox, and what to tell the user where it cannot be built."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from functools import cache
from pathlib import Path

from evalooop.errors import UserError

INSIDE = Path(__file__).with_name("inside")
PYTHON_ROOT = "/opt/python"
SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64")
SYSTEM_DATA = ("/usr/share/zoneinfo",)
DEVICES = ("/dev/null", "/dev/urandom")
# No site-packages, no user's packages, no bytecode written, no warnings.
PYTHON_OPTIONS = ("-S", "-s", "-B", "-W", "ignore")

REMEDIES = """\
This system does not let ordinary processes create namespaces. One of these helps:
  - sysctl -w user.max_user_namespaces=15000        (if it is 0)
  - sysctl -w kernel.unprivileged_userns_clone=1    (older Debian)
  - sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap   (Ubuntu 24.04)
  - in Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined --cap-add SYS_ADMIN
  - in Podman: --security-opt unmask=ALL
Where none of them is possible, sandbox.isolation=landlock runs programs behind weaker walls, and the report says so."""


@cache
def command(descriptor: int) -> tuple[str, ...]:
    """Return the command that starts a zygote in a sandbox of its own.

    Inside there are: the C libraries, this Python's standard library (no site-packages), /dev/null and
    /dev/urandom, all read-only; no network, no home, no /proc, no environment but a fixed hash seed.

    Args:
        descriptor: number of the control socket, inherited by the zygote.

    Raises:
        UserError: bubblewrap is not installed, or this is not Linux on x86-64.
    """
    check_platform()
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise UserError("bubblewrap is not installed, and programs never run outside it: apt-get install bubblewrap")
    python, binds = _python()
    arguments = [
        *("--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--hostname", "sandbox"),
        # bubblewrap then waits for the zygote itself, and leaves no process of its own to be reaped by others.
        "--as-pid-1",
        *("--clearenv", "--setenv", "PYTHONHASHSEED", "0", "--setenv", "LD_LIBRARY_PATH", f"{PYTHON_ROOT}/lib"),
        # The zygote needs it to give each program its own pid namespace; each program drops it.
        *("--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"),
        *_system(),
        *binds,
        *("--ro-bind", str(INSIDE), "/opt/inside"),
        # Not --dev and not --uid: they would put the zygote in a second user namespace without power over its own.
        *(part for device in DEVICES for part in ("--dev-bind", device, device)),
        *("--proc", "/proc", "--dir", "/tmp", "--remount-ro", "/", "--chdir", "/tmp"),
    ]
    return (bwrap, *arguments, python, *PYTHON_OPTIONS, "/opt/inside/zygote.py", str(descriptor))


def check_platform() -> None:
    """Refuse a system whose calls the sandbox's filter does not know.

    Raises:
        UserError: this is not Linux on x86-64.
    """
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise UserError(f"the sandbox runs on Linux on x86-64 only, this is {sys.platform} on {platform.machine()}")


def _system() -> list[str]:
    """Return the options that show the C libraries (and nothing else of /usr), Python packages masked."""
    options = []
    for path in map(Path, SYSTEM_LIBRARIES):
        if path.is_symlink():
            options += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            options += ["--ro-bind", str(path), str(path), *_masked(path)]
    for path in SYSTEM_DATA:
        if os.path.isdir(path):
            options += ["--ro-bind", path, path]
    return options


def _python() -> tuple[str, list[str]]:
    """Return the path of this Python inside the sandbox, and the options that show it there.

    Only the executable and the libraries: a prefix may hold other environments and their data, too.
    """
    prefix = Path(sys.base_prefix).resolve()
    executable = Path(sys._base_executable).resolve()
    if prefix == Path("/usr"):
        return str(executable), ["--ro-bind", str(executable), str(executable)]
    # Not at its own path: that would show that there is a home, and may go through private folders.
    inside = Path(PYTHON_ROOT)
    if not executable.is_relative_to(prefix):
        raise UserError(f"Python's executable {executable} is not below its prefix {prefix}; use a usual installation")
    python = str(inside / executable.relative_to(prefix))
    options = ["--ro-bind", str(executable), python]
    for name in ("lib", "lib64"):
        if (prefix / name).is_symlink():
            options += ["--symlink", os.readlink(prefix / name), str(inside / name)]
        elif (prefix / name).is_dir():
            options += ["--ro-bind", str(prefix / name), str(inside / name), *_masked(prefix / name, inside / name)]
    return python, options


def _masked(library: Path, inside: Path | None = None) -> list[str]:
    """Return the options that hide installed packages below a library folder: data sets may be among them."""
    found = [*library.glob("python*/site-packages"), *library.glob("python*/dist-packages")]
    return [part for path in found for part in ("--tmpfs", str((inside or library) / path.relative_to(library)))]


def explain(stderr: str) -> UserError:
    """Return the error for a sandbox that did not start: its own words, and remedies where they are known."""
    words = " ".join(stderr.split()) or "no message"
    if words.startswith("bwrap:"):
        return UserError(f"the sandbox cannot be built: {words}\n{REMEDIES}")
    return UserError(f"Python does not start inside the sandbox: {words}")
