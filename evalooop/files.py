"""Files that are either whole or absent."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from evalooop.errors import UserError


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new one, never a part.

    Raises:
        UserError: the disk is full.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(f"cannot write {path} ({error.strerror}): make room and run again")
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
