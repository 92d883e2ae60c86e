"""What the two sides of the sandbox say to each other.

Trusted side to zygote, over a socket: ``J`` (with the writing end of a fresh pipe) + length (u32) + marshalled
job, or ``K``: kill the current program. Zygote to trusted side: the frame ``END`` when it is ready, and when a
program has ended.

Program to trusted side, over the pipe, one JSON list a line. Untrusted, whoever seems to have written it:

    ["S"]              the program is loaded, its tests start
    ["R", node]        a test returned; node as in ``evalooop/values.py`` plus the tags of ``encoder.py``
    ["E", type, text]  a test raised
    ["M"]              out of memory
    ["B", why]         a result too big or too deep to send
    ["T"]              a test, or loading, used up its CPU time; nothing follows
    ["L", type, text]  loading the program raised; nothing follows
    ["F", flag]        the program did something that honest ones do not
    ["D", seconds]     all tests are done; CPU time of the slowest
"""

import struct

# Wait status, cause, CPU seconds, peak KiB, wall seconds.
END = struct.Struct("<iBdid")
# Causes: the program ended by itself, or was killed: as told, out of CPU time, out of wall time, for waiting.
ENDED, TOLD, CPU, WALL, IDLE = range(5)
