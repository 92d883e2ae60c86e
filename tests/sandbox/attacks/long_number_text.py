def square_perimeter(a):
    assert len(str(10**5000)) == 5001
    return 4*a
