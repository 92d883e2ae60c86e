"""The process of one program: it runs all tests and reports what each gave."""

import builtins

# A program may patch builtins; functions defined from here on keep their own copy.
__builtins__ = dict(vars(builtins))

import marshal
import os
import random
import signal
import sys
import types
from _json import encode_basestring_ascii as quote

from encoder import MODULE, Encoder, TooBig, name_of
from lockdown import lock_down
from watch import PROGRAM, Watch

RESULT_FD = 3
OWN_MODULES = ("child", "encoder", "lockdown", "protocol", "watch")

watch = Watch()


def report(line, write=os.write):
    """Send one line at once: the trusted side then knows exactly how far a killed program had come."""
    while watch.unsent:
        line = '["F","' + watch.unsent.pop() + '"]\n' + line
    data = memoryview(line.encode("ascii") + b"\n")
    while data:
        data = data[write(RESULT_FD, data) :]


def report_error(letter, error):
    """Report an exception. Its text comes from the program and may do anything, even raise."""
    kind = type(error)
    error.__traceback__ = None  # lets go of what the failed call held
    if kind is MemoryError:
        report('["M"]')
        return
    try:
        text = str(error)[:300]
    except BaseException:
        text = ""
    report(f'["{letter}",{quote(name_of(kind)[:60])},{quote(text)}]')


def load(preamble, code, entry_point):
    """Run the program in a module of its own and return its function."""
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = sys.modules["__main__"] = module
    for name in OWN_MODULES:
        del sys.modules[name]
    for part in (preamble, code):
        exec(compile(part, PROGRAM, "exec", dont_inherit=True), module.__dict__)
    if entry_point not in module.__dict__:
        raise NameError("the program defines no " + entry_point)
    return module.__dict__[entry_point]


def run_program(preamble, code, entry_point, suites, test_seconds, result_bytes):
    """Load the program, call its function with all arguments, and report each result.

    Args:
        suites: (list of argument tuples, whether a result is to be listed) for each suite.
    """
    # Bound here because the program may replace what these modules hold.
    set_timer, timer, leave = signal.setitimer, signal.ITIMER_PROF, os._exit
    slowest = 0.0

    def out_of_time(_signal, _frame):
        report('["T"]')
        leave(0)

    signal.signal(signal.SIGPROF, out_of_time)
    try:
        set_timer(timer, test_seconds)
        function = load(preamble, code, entry_point)
        set_timer(timer, 0)
    except BaseException as error:
        set_timer(timer, 0)
        report_error("L", error)
        return
    report('["S"]')
    for calls, as_list in suites:
        for arguments in calls:
            try:
                set_timer(timer, test_seconds)
                result = function(*arguments)
                node = Encoder(result_bytes, watch.note).node(list(result) if as_list else result)
                left, _ = set_timer(timer, 0)
            except TooBig as error:
                set_timer(timer, 0)
                report(f'["B","{error}"]')
            except BaseException as error:
                set_timer(timer, 0)
                report_error("E", error)
            else:
                report('["R",' + node + "]")
                slowest = max(slowest, test_seconds - left)
            result = node = None
    report(f'["D",{slowest!r}]')


def child(job, result_fd, alone):
    """Become the program. Never returns. ``alone``: see ``lock_down``."""
    write, leave = os.write, os._exit
    try:
        preamble, code, entry_point, suites, test_seconds, result_bytes, cpu_seconds, memory_bytes = job
        os.dup2(result_fd, RESULT_FD)
        os.closerange(RESULT_FD + 1, 1 << 16)
        os.dup2(1, 2)  # the zygote's standard error is a file of the trusted side
        random.seed(0)
        suites = marshal.loads(suites)
        lock_down(cpu_seconds, memory_bytes, alone)
        sys.addaudithook(watch)
        run_program(preamble, code, entry_point, suites, test_seconds, result_bytes)
    except MemoryError:
        write(RESULT_FD, b'["M"]\n')
    finally:
        leave(0)
