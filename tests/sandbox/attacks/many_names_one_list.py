def square_perimeter(a):
    x = [0]
    for _ in range(30): x = [x, x]
    return x
