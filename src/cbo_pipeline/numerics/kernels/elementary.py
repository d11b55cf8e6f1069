"""Exponential and logarithm written so that the compiler vectorises loops over them (numba's own call libm)."""

import numpy as np
from numba import types
from numba.extending import overload

from cbo_pipeline.numerics.kernels.lanes import bits_of_float, float_of_bits


def exponential(x):
    """exp(x) for x <= 0, to two units in the last place; 0 where it would be less than the smallest normal number."""
    raise NotImplementedError("compiled code only")


def logarithm(x):
    """log(x) for positive normal numbers, to two units in the last place of the larger of log(x) and ulp(x)."""
    raise NotImplementedError("compiled code only")


@overload(exponential)
def _exponential(x):
    """x = n log 2 + r with |r| <= log(2) / 2: 2^n by its bits, exp(r) by a polynomial."""
    if x == types.float32:
        # Adding this constant leaves the nearest integer in the lowest bits of the sum.
        nearest, per_ln2, least = np.float32(12582912), np.float32(1.44269504), np.float32(-87.33654)
        high, low = np.float32(0.693359375), np.float32(-2.12194440e-4)
        # exp(r) = 1 + r + r^2 (...), minimax (Cephes).
        p0, p1, p2, p3, p4, p5 = (
            np.float32(p)
            for p in (
                5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4,
            )
        )  # fmt: skip
        shift, one, zero, unit = np.int32(23), np.int32(0x3F800000), np.float32(0), np.float32(1)

        def implementation(x):
            sum_ = x * per_ln2 + nearest
            n = sum_ - nearest
            r = (x - n * high) - n * low
            rest = p0 + r * (p1 + r * (p2 + r * (p3 + r * (p4 + r * p5))))
            power = float_of_bits(np.int32((bits_of_float(sum_) << shift) + one))
            y = (unit + (r + (r * r) * rest)) * power
            return zero if x < least else y

        return implementation
    if x == types.float64:
        nearest, per_ln2, least = 6755399441055744.0, 1.4426950408889634, -708.39
        high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10
        p2, p3, p4, p5, p6, p7 = 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040
        p8, p9, p10, p11, p12, p13 = 1 / 40320, 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600, 1 / 6227020800
        shift, one = np.int64(52), np.int64(0x3FF0000000000000)

        def implementation(x):
            sum_ = x * per_ln2 + nearest
            n = sum_ - nearest
            r = (x - n * high) - n * low
            tail = p8 + r * (p9 + r * (p10 + r * (p11 + r * (p12 + r * p13))))
            rest = p2 + r * (p3 + r * (p4 + r * (p5 + r * (p6 + r * (p7 + r * tail)))))
            power = float_of_bits(np.int64((bits_of_float(sum_) << shift) + one))
            y = (1.0 + (r + (r * r) * rest)) * power
            return 0.0 if x < least else y

        return implementation
    return None


@overload(logarithm)
def _logarithm(x):
    """x = 2^e m with m in [sqrt(1/2), sqrt(2)): log x = e log 2 + 2 artanh((m - 1) / (m + 1))."""
    if x == types.float32:
        root, shift, mantissa = np.int32(0x3F3504F3), np.int32(23), np.int32(0x007FFFFF)
        ln2, one, two = np.float32(0.69314718), np.float32(1), np.float32(2)
        c1, c2, c3, c4 = np.float32(1 / 3), np.float32(1 / 5), np.float32(1 / 7), np.float32(1 / 9)

        def implementation(x):
            shifted = np.int32(bits_of_float(x) - root)
            e = np.float32(np.int32(shifted >> shift))
            m = float_of_bits(np.int32((shifted & mantissa) + root))
            s = (m - one) / (m + one)
            q = s * s
            # x - x is zero, or not a number where x is not finite.
            return e * ln2 + two * s * (one + q * (c1 + q * (c2 + q * (c3 + q * c4)))) + (x - x)

        return implementation
    if x == types.float64:
        root, shift, mantissa = np.int64(0x3FE6A09E667F3BCD), np.int64(52), np.int64(0x000FFFFFFFFFFFFF)
        ln2 = 0.6931471805599453
        c1, c2, c3, c4, c5, c6 = 1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11, 1 / 13
        c7, c8, c9, c10, c11 = 1 / 15, 1 / 17, 1 / 19, 1 / 21, 1 / 23

        def implementation(x):
            shifted = np.int64(bits_of_float(x) - root)
            e = np.float64(np.int64(shifted >> shift))
            m = float_of_bits(np.int64((shifted & mantissa) + root))
            s = (m - 1.0) / (m + 1.0)
            q = s * s
            tail = c6 + q * (c7 + q * (c8 + q * (c9 + q * (c10 + q * c11))))
            return (
                e * ln2 + 2.0 * s * (1.0 + q * (c1 + q * (c2 + q * (c3 + q * (c4 + q * (c5 + q * tail)))))) + (x - x)
            )

        return implementation
    return None
