"""The trusted side of the sandbox: hands programs to a warm process inside and judges what comes back.

Three processes stand between a program and this one. bubblewrap builds a place without network, home,
environment or anything writable (``bubblewrap.py``); the zygote waits in it and forks a child for each
program (``inside/``); the child, alone in a pid namespace, gives up every right, sets its limits, loads
the program and runs all tests of all suites. Results come back over a pipe of their own, and are compared
here (``compare.py``), so expected values never enter.

What this does not protect against:
- a hole in the kernel that about 80 system calls, or memory of one's own, suffice to use;
- timing and cache side channels between programs on one machine;
- reading what is public in there: the C libraries and Python's standard library;
- programs that know the right answers: a table of them passes, as it would anywhere;
- heavy but legal use: each worker may keep a core and ``memory_mb`` busy up to its limits.
Programs run one after another in one sandbox cannot see each other: nothing in it can be written.

Where a system allows no namespaces, ``isolation="landlock"`` puts weaker walls in bubblewrap's place (``landlock.py``);
it is never chosen by itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import marshal
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time

from evalooop.errors import UserError
from evalooop.sandbox import bubblewrap, landlock
from evalooop.sandbox.compare import LISTED
from evalooop.sandbox.inside import protocol
from evalooop.sandbox.judgement import Judgement
from evalooop.sandbox.limits import IDLE_SECONDS, RESULT_BYTES, Limits
from evalooop.sandbox.referee import End, Referee
from evalooop.tasks import Task

START_SECONDS = 60.0
CLOSE_SECONDS = 5.0
# How much later than the wall limit the zygote may report before it counts as dead.
GRACE_SECONDS = 20.0
PIPE_BYTES = 1 << 20
# Results are read in batches this far apart: waking up for each would cost more than comparing it.
BATCH_SECONDS = 0.01


class Infrastructure(Exception):
    """The sandbox failed, not the program in it: never a verdict."""


class Sandbox:
    """One sandbox with a warm process inside, for one thread. Use it as a context manager.

    The kernel ends a sandbox when the thread that started it ends.
    """

    def __init__(self, limits: Limits | None = None, isolation: str = "namespaces") -> None:
        """Prepare a sandbox; ``isolation``: ``namespaces``, or the weaker ``landlock``."""
        self.limits = limits or Limits()
        self.isolation = isolation
        self._stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._stderr = None
        self._packed: tuple[Task, bytes] | None = None

    def __enter__(self) -> Sandbox:
        """Start it.

        Raises:
            UserError: it cannot be built on this system; says why and what to do.
        """
        try:
            self._start()
        except Infrastructure as error:
            self.close()
            raise bubblewrap.explain(str(error))
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, program: str, task: Task, limits: Limits | None = None, all_tests: bool = False) -> Judgement:
        """Judge one program on all suites of a task.

        Args:
            program: source text; it is run after the task's preamble.
            limits: for this program instead of the sandbox's own.
            all_tests: go on after a failing test, to name every one.

        Raises:
            Infrastructure: the sandbox died or fell silent, twice; it has been restarted in between.
        """
        limits = limits or self.limits
        try:
            return self._run(program, task, limits, all_tests)
        except Infrastructure:
            self.close()
            if self._stopped:
                raise
        except BaseException:
            self.close()  # or the next program would be told how this one ended
            raise
        try:
            return self._run(program, task, limits, all_tests)
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """End the sandbox from another thread: its ``run`` raises Infrastructure at once."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the sandbox and everything in it. A later ``run`` starts it anew."""
        if self._control is not None:
            # The zygote ends with this socket, and bubblewrap with the zygote, leaving nothing to reap.
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            weaker = self.isolation == "landlock"
            command = (landlock if weaker else bubblewrap).command(theirs.fileno())
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
            self._process = subprocess.Popen(
                command,
                env=landlock.environment() if weaker else {},
                cwd="/",
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                start_new_session=True,  # or Ctrl-C would reach it before it reaches us
            )
        self._control = ours
        ours.settimeout(START_SECONDS)
        self._receive_end()

    def _run(self, program: str, task: Task, limits: Limits, all_tests: bool) -> Judgement:
        if self._process is None:
            self._start()
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            try:
                os.set_blocking(writing, True)
                self._send_job(self._job(program, task, limits), writing)
            finally:
                os.close(writing)
            return self._follow(reading, Referee(task, limits, all_tests), limits)
        finally:
            os.close(reading)

    def _job(self, program: str, task: Task, limits: Limits) -> bytes:
        """Return a job as ``zygote.serve`` and ``zygote.child`` unpack it."""
        if self._packed is None or self._packed[0] is not task:
            self._packed = (task, _pack_calls(task))
        settings = (limits.test_cpu_seconds, RESULT_BYTES, limits.cpu_seconds, limits.memory_mb << 20)
        job = (task.preamble, program, task.entry_point, self._packed[1], *settings)
        return marshal.dumps((job, limits.wall_seconds, IDLE_SECONDS))

    def _send_job(self, job: bytes, writing: int) -> None:
        _enlarge(writing)
        try:
            socket.send_fds(self._control, [b"J"], [writing])
            self._control.sendall(struct.pack("<I", len(job)) + job)
        except OSError as error:
            raise Infrastructure(self._last_words(error))

    def _follow(self, reading: int, referee: Referee, limits: Limits) -> Judgement:
        """Feed the referee until the program has ended, which it tells the zygote to hasten once it has failed."""
        both, control_only = select.poll(), select.poll()
        both.register(reading, select.POLLIN)
        both.register(self._control, select.POLLIN)
        control_only.register(self._control, select.POLLIN)
        deadline = time.monotonic() + limits.wall_seconds + GRACE_SECONDS
        told = finished = False
        while True:
            awaited = control_only if finished or told else both
            left = max(0.0, deadline - time.monotonic())  # a negative time would mean for ever
            ready = {descriptor for descriptor, _ in awaited.poll(1000 * left)}
            if not ready:
                raise Infrastructure(self._last_words("no answer"))
            if self._control.fileno() in ready:
                break
            control_only.poll(1000 * BATCH_SECONDS)
            finished = self._drain(reading, referee)
            if referee.decided and not told:
                told = True
                self._kill_program()
        end = self._receive_end()
        self._drain(reading, referee)
        killed = os.WIFSIGNALED(end.status) and os.WTERMSIG(end.status) == signal.SIGKILL
        if killed and end.cause == protocol.ENDED and end.cpu_seconds < limits.cpu_seconds:
            raise Infrastructure("the kernel killed the program, most likely for want of memory on this machine")
        return referee.judgement(end)

    def _drain(self, reading: int, referee: Referee) -> bool:
        """Feed what has come, unless all is decided. Return whether the stream has ended."""
        while not referee.decided:
            try:
                chunk = os.read(reading, PIPE_BYTES)
            except BlockingIOError:
                return False
            if not chunk:
                return True
            referee.feed(chunk)
        return False

    def _kill_program(self) -> None:
        try:
            self._control.sendall(b"K")
        except OSError as error:
            raise Infrastructure(self._last_words(error))

    def _receive_end(self) -> End:
        frame = b""
        while len(frame) < protocol.END.size:
            try:
                more = self._control.recv(protocol.END.size - len(frame))
            except OSError as error:
                raise Infrastructure(self._last_words(error))
            if not more:
                raise Infrastructure(self._last_words("it ended"))
            frame += more
        return End(*protocol.END.unpack(frame))

    def _last_words(self, fallback: object) -> str:
        """Return what the dead or silent sandbox wrote to standard error."""
        self._stderr.seek(0)
        return self._stderr.read(4000).decode("utf-8", "replace").strip() or f"the sandbox is gone: {fallback}"


def _pack_calls(task: Task) -> bytes:
    """Return the arguments of all tests, marshalled: trusted data on its way in, never the other way."""
    calls = [(list(suite.inputs), suite.rule in LISTED) for suite in task.suites]
    try:
        # Version 2 writes shared objects out one by one, so no call can change the arguments of another.
        return marshal.dumps(calls, 2)
    except ValueError:
        raise UserError(f"task {task.id}: an argument of its tests is not of a built-in type; mend the data set")


def _enlarge(pipe: int) -> None:
    with contextlib.suppress(OSError):  # an ordinary user may have used up its share: slower, not wrong
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
