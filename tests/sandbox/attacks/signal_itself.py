import os, struct, ctypes, fcntl, resource, time, sys, threading
N=[0]

def square_perimeter(a):
    r,w=os.pipe()
    F_SETSIG=10
    out=[]
    try:
        fcntl.fcntl(r,fcntl.F_SETOWN,os.getpid()); fcntl.fcntl(r,F_SETSIG,9)
        fcntl.fcntl(r,fcntl.F_SETFL,fcntl.fcntl(r,fcntl.F_GETFL)|os.O_ASYNC)
        os.write(w,b'x')
    except OSError as e: out.append(e)
    time.sleep(1)
    raise Exception(str((os.getppid(),out)))
