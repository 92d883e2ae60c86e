"""Errors that a user can mend."""

from __future__ import annotations

import sys
from collections.abc import Callable


class UserError(Exception):
    """Bad input or a missing thing: one line that says what, where and what to do."""


def exit_with_one_line(main: Callable[[], int | None]) -> None:
    """Run a command's ``main``; a ``UserError`` becomes one line on standard error and exit status 1."""
    try:
        sys.exit(main() or 0)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted: what was finished is kept, the same command goes on from there", file=sys.stderr)
        sys.exit(130)
