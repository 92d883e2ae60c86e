from decimal import Decimal
from fractions import Fraction
def square_perimeter(a):
    return Fraction(3**200000, 2**300000) if a % 2 else Decimal('1e999999999999')
