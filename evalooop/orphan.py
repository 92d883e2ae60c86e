"""A stage ends with the workflow that started it.

Killing Snakemake with SIGKILL leaves its jobs running. They would go on using the GPU beside the jobs of
the next call, so each long stage watches the workflow's process, whose id the Snakefile puts in the environment.
"""

from __future__ import annotations

import os
import select
import signal
import threading

WORKFLOW_PID = "EVALOOOP_WORKFLOW_PID"


def end_with_workflow() -> None:
    """Start a thread that terminates this process when the workflow's process is gone. No workflow, no thread."""
    pid = os.environ.get(WORKFLOW_PID)
    if not pid:
        return
    try:
        handle = os.pidfd_open(int(pid))
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGTERM)
        return
    threading.Thread(target=_wait, args=(handle,), daemon=True).start()


def _wait(handle: int) -> None:
    select.select([handle], [], [])
    os.kill(os.getpid(), signal.SIGTERM)
