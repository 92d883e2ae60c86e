import os, struct, ctypes, fcntl, resource, time, sys, threading
N=[0]

from concurrent.futures import ThreadPoolExecutor
def square_perimeter(a):
    with ThreadPoolExecutor(4) as e: return sum(e.map(lambda i:a,range(4)))
