import sys
def hook(event, arguments): raise RuntimeError(event)
sys.addaudithook(hook)
def square_perimeter(a):
    return 4*a
