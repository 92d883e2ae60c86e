"""How a process gives up everything it could do besides computing."""

import ctypes
import os
import resource
import signal
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)

AUDIT_ARCH = 0xC000003E  # x86_64
X32_BIT = 0x40000000
CLONE, CLONE3 = 56, 435
CLONE_THREAD = 0x00010000
# Memory, clocks, threads, and files already visible (read-only). No exec, fork, socket, kill, ptrace, mount,
# namespace, prctl, or write access to anything but open descriptors.
ALLOWED = (
    *(0, 1, 2, 3, 4, 5, 6, 7, 8),  # read write open close stat fstat lstat poll lseek
    *(9, 10, 11, 12, 13, 14, 15),  # mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn
    *(17, 19, 20, 21, 22, 23, 24, 25, 28),  # pread readv writev access pipe select sched_yield mremap madvise
    *(32, 33, 35, 36, 37, 38, 39),  # dup dup2 nanosleep getitimer alarm setitimer getpid
    *(60, 63, 78, 79, 89, 96, 97, 98, 99),  # exit uname getdents getcwd readlink … getrusage sysinfo
    *(100, 102, 104, 107, 108, 110, 111, 131),  # times getuid getgid geteuid getegid getppid getpgrp sigaltstack
    *(158, 186, 201, 202, 204, 217, 218),  # arch_prctl gettid time futex sched_getaffinity getdents64 set_tid
    *(228, 229, 230, 231, 257, 262, 267, 269),  # clock_get… nanosleep exit_group openat newfstatat … faccessat
    *(270, 271, 273, 292, 293, 318),  # pselect ppoll set_robust_list dup3 pipe2 getrandom
    *(324, 332, 334, 439),  # membarrier statx rseq faccessat2
)


# Of the allowed calls, what these may do: ask a terminal or a pipe, not set up signals or reserve space on a disk.
IOCTL, FCNTL, PRLIMIT = 16, 72, 302
HARMLESS_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)  # TCGETS TIOCGWINSZ FIONREAD FIONCLEX FIOCLEX
SIGNALLING_FCNTLS = (8, 10, 15)  # F_SETOWN F_SETSIG F_SETOWN_EX: signals to whatever process


def seccomp_filter():
    """Return the allow-list as BPF instructions: other calls get EPERM, a foreign ABI is killed."""
    load, jump_equal, jump_at_least, jump_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill = (give, 0, 0, 0x7FFF0000), (give, 0, 0, 0x80000000)
    eperm, enosys = (give, 0, 0, 0x00050001), (give, 0, 0, 0x00050026)

    def argument(number, high=False):
        return (load, 0, 0, 16 + 8 * number + 4 * high)

    def rule(number, *instructions):
        """What to do about one call; the instructions end it."""
        return [(jump_equal, 0, len(instructions), number), *instructions]

    def among(values, found, otherwise):
        choices = [instruction for value in values for instruction in ((jump_equal, 0, 1, value), found)]
        return [argument(1), *choices, otherwise]

    zero = [(jump_equal, 1, 0, 0), eperm]
    code = [
        (load, 0, 0, 4),
        (jump_equal, 1, 0, AUDIT_ARCH),
        kill,
        (load, 0, 0, 0),
        (jump_at_least, 0, 1, X32_BIT),
        eperm,
        *rule(CLONE3, enosys),  # its flags lie in memory; without it the C library uses clone
        *rule(CLONE, argument(0), (jump_bit, 0, 1, CLONE_THREAD), allow, eperm),
        *rule(IOCTL, *among(HARMLESS_IOCTLS, allow, eperm)),
        *rule(FCNTL, *among(SIGNALLING_FCNTLS, eperm, allow)),
        # Limits may be asked for, one's own alone, and not set: a program could kill others with them, or itself.
        *rule(PRLIMIT, argument(0), *zero, argument(2), *zero, argument(2, high=True), *zero, allow),
    ]
    for number in ALLOWED:
        code += rule(number, allow)
    code.append(eperm)
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


FILTER = ctypes.create_string_buffer(seccomp_filter())
FILTER_PROGRAM = ctypes.create_string_buffer(struct.pack("HxxxxxxP", (len(FILTER) - 1) // 8, ctypes.addressof(FILTER)))


def allow_reading_only(paths):
    """Refuse this process and all it starts every file but these (or below these), by Landlock."""
    CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
    ASK_VERSION, BELOW_PATH, O_PATH = 1, 1, 0o10000000
    execute, write, read, list_folder = 1, 2, 4, 8
    rights = {1: 13, 2: 14, 3: 15, 4: 15}  # number of rights that each version knows; 16 from the fifth on
    version = libc.syscall(CREATE_RULESET, None, 0, ASK_VERSION)
    if version < 1:
        sys.exit("this kernel has no Landlock, which sandbox.isolation=landlock needs")
    everything = struct.pack("Q", (1 << rights.get(version, 16)) - 1)
    ruleset = libc.syscall(CREATE_RULESET, everything, len(everything), 0)
    for path in paths:
        descriptor = os.open(path, O_PATH)
        mode = os.fstat(descriptor).st_mode
        allowed = execute | read | (list_folder * stat.S_ISDIR(mode)) | (write * (path == "/dev/null"))
        rule = struct.pack("=Qi", allowed, descriptor)
        if libc.syscall(ADD_RULE, ruleset, BELOW_PATH, rule, 0) != 0:
            sys.exit("Landlock refuses a rule for " + path)
        os.close(descriptor)
    PR_SET_NO_NEW_PRIVS = 38
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.syscall(RESTRICT_SELF, ruleset, 0) != 0:
        sys.exit("Landlock does not take hold")
    os.close(ruleset)


def lock_down(cpu_seconds, memory_bytes, alone):
    """Give up everything this process could do besides computing. Ends the process if that fails.

    ``alone``: in a user namespace of its own, where the number of processes counts no others.
    """
    PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
    PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 38, 47
    capability = 0
    while libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    libc.prctl(PR_CAP_AMBIENT, 4, 0, 0, 0)
    header, none = struct.pack("II", 0x20080522, 0), bytes(24)
    hard_cpu = int(cpu_seconds) + 2  # the parent stops it before; this holds should the parent be slow
    for what, limit in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, hard_cpu),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(what, (limit, limit))
    if alone:
        # For threads; seccomp stops forks. Without effect when the host's user is root.
        resource.setrlimit(resource.RLIMIT_NPROC, (64, 64))
    failed = (
        libc.capset(header, none)
        or libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        or libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        or libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        or libc.prctl(PR_SET_SECCOMP, 2, FILTER_PROGRAM, 0, 0)
    )
    if failed:
        os._exit(97)
