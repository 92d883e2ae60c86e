def square_perimeter(a):
    return 9**9**9
