"""The process that waits in the sandbox, warm, and forks one child per program."""

import ctypes
import gc
import importlib
import marshal
import os
import select
import signal
import socket
import struct
import sys
import time

from child import child
from lockdown import allow_reading_only, libc
from protocol import CPU, END, ENDED, IDLE, TOLD, WALL

# Imported once, before any fork, because programs use them; each would cost them milliseconds.
PRELOAD = """abc bisect calendar cmath collections contextlib copy dataclasses datetime decimal enum fractions
functools heapq itertools json math numbers operator queue re statistics string textwrap typing unicodedata"""

CLONE_NEWPID = 0x20000000
LOOK_SECONDS = 0.1


def receive(control, size, descriptors):
    """Return exactly this many bytes; descriptors that came along are appended. Ends with the trusted side."""
    data = b""
    while len(data) < size:
        more, passed, _, _ = socket.recv_fds(control, min(size - len(data), 1 << 20), 4)
        if not more:
            os._exit(0)
        descriptors += passed
        data += more
    return data


def supervise(pid, control, cpu_seconds, wall_seconds, idle_seconds):
    """Wait for a child, kill it when told or when it has used up its time, and return its end frame."""
    cpu_clock = (~pid << 3) | 2  # the kernel's name for the CPU clock of another process
    process = os.pidfd_open(pid)
    poller = select.poll()
    poller.register(process, select.POLLIN)
    poller.register(control, select.POLLIN)
    start = worked_at = now = time.monotonic()
    worked = 0.0
    cause = ENDED
    while cause == ENDED:
        ready = {descriptor for descriptor, _ in poller.poll(1000 * LOOK_SECONDS)}
        if process in ready:
            break
        if ready:
            cause = TOLD
            if not control.recv(1):
                os._exit(0)  # the trusted side is gone; the child dies with this pid namespace
        now, used = time.monotonic(), time.clock_gettime(cpu_clock)
        if used - worked >= 0.01:
            worked, worked_at = used, now
        if used >= cpu_seconds:
            cause = CPU
        elif now - start >= wall_seconds:
            cause = WALL
        elif now - worked_at >= idle_seconds:
            cause = IDLE
    if cause != ENDED:
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    os.close(process)
    seconds = usage.ru_utime + usage.ru_stime
    return END.pack(status, cause, seconds, usage.ru_maxrss, time.monotonic() - start)


def fork_child(own_namespace):
    """Fork into a new pid namespace; the parent moves back to its own, or it could not fork again.

    ``own_namespace`` None: where there are no namespaces, just fork.
    """
    if own_namespace is None:
        return os.fork()
    if libc.unshare(CLONE_NEWPID) != 0:
        sys.exit("unshare(CLONE_NEWPID): " + os.strerror(ctypes.get_errno()))
    pid = os.fork()
    if pid and libc.setns(own_namespace, CLONE_NEWPID) != 0:
        os.kill(pid, signal.SIGKILL)
        sys.exit("setns(CLONE_NEWPID): " + os.strerror(ctypes.get_errno()))
    return pid


def leave_proc():
    """Take /proc away, through which a program could reach this process's memory; return its pid namespace."""
    own_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)
    if libc.umount2(b"/proc", 2) != 0:
        sys.exit("umount(/proc): " + os.strerror(ctypes.get_errno()))
    return own_namespace


def serve(control, own_namespace):
    """Answer jobs until the trusted side goes away."""
    PR_SET_DUMPABLE = 4
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # where there is a /proc, it then tells programs nothing of this process
    gc.collect()
    gc.freeze()
    control.sendall(END.pack(0, ENDED, 0.0, 0, 0.0))
    while True:
        descriptors = []
        if receive(control, 1, descriptors) == b"K":
            continue  # for a program that had just ended by itself
        (size,) = struct.unpack("<I", receive(control, 4, descriptors))
        job, wall_seconds, idle_seconds = marshal.loads(receive(control, size, descriptors))
        pid = fork_child(own_namespace)
        if pid == 0:
            child(job, descriptors[0], alone=own_namespace is not None)
        os.close(descriptors[0])
        control.sendall(supervise(pid, control, job[6], wall_seconds, idle_seconds))


def make_repeatable():
    """Start again without address randomisation: the order of some sets depends on addresses."""
    ADDR_NO_RANDOMIZE, ASK = 0x0040000, 0xFFFFFFFF
    if not libc.personality(ASK) & ADDR_NO_RANDOMIZE and libc.personality(ADDR_NO_RANDOMIZE) != -1:
        os.execv(sys.executable, sys.orig_argv)


if __name__ == "__main__":
    # Number of the control socket, then, where Landlock stands in for namespaces, what programs may read.
    descriptor, *readable = sys.argv[1:]
    make_repeatable()
    os.environ.clear()
    sys.path.pop(0)  # what lies beside this file is not for programs
    sys.set_int_max_str_digits(0)
    for name in PRELOAD.split():
        importlib.import_module(name)
    if readable:
        allow_reading_only(readable)
    serve(socket.socket(fileno=int(descriptor)), None if readable else leave_proc())
