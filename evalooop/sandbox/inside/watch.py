"""What honest programs do not do, noted."""

import builtins

# A program may patch builtins; functions defined from here on keep their own copy.
__builtins__ = dict(vars(builtins))

import sys

# The file name that programs are compiled under.
PROGRAM = "<program>"
REFUSED = (
    *("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"),
    *("os.kill", "signal.pthread_kill", "socket.__new__", "resource.setrlimit", "resource.prlimit"),
)
DIRECT = {
    **dict.fromkeys(("sys._getframe", "sys._current_frames", "gc.get_objects"), "frames"),
    **dict.fromkeys(("gc.get_referrers", "gc.get_referents"), "frames"),
    **dict.fromkeys(("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir"), "files"),
    "ctypes.dlopen": "native",
}
# Modules of the standard library that only pass on what the program asked for.
GO_BETWEEN = (
    *("<frozen os>", "<frozen codecs>", "/os.py", "/codecs.py", "/pathlib.py", "/glob.py", "/inspect.py"),
    *("/tempfile.py", "/ctypes/__init__.py"),
)


class Watch:
    """An audit hook that notes what honest programs do not do. Hostile code can blind it; it decides nothing."""

    def __init__(self):
        self.seen = set()
        self.unsent = []
        self.busy = False

    def __call__(self, event, _arguments, frame_of=sys._getframe):
        if self.busy or (event not in DIRECT and event not in REFUSED):
            return
        self.busy = True  # looking at frames raises an event too
        if event in REFUSED or self.asked_by_program(frame_of(1)):
            self.note(DIRECT.get(event, "refused"))
        self.busy = False

    def asked_by_program(self, frame):
        while frame is not None and frame.f_code.co_filename.endswith(GO_BETWEEN):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename == PROGRAM

    def note(self, flag):
        if flag not in self.seen:
            self.seen.add(flag)
            self.unsent.append(flag)
