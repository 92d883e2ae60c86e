def square_perimeter(a):
    raise ValueError('\ud800\x00\n' * 50)
