"""Logarithm, log Gamma, digamma, trigamma and exp as branch-free arithmetic, so that loops over them vectorise.

A call into the C library stops vectorisation: one `math.lgamma` costs about 20 ns, the forms below a few ns
for each element of a loop. Arguments must be positive and normal. Accuracy (checked against SciPy by the
tests): absolute and relative error below 5e-13 for arguments from 1e-6 to 1e12, whichever is the larger.
"""

from __future__ import annotations

import math
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

# Reassociation and fused multiply-add are allowed; NaN and infinity keep their meaning, so that a diverged
# run is seen as one.
FAST = {"reassoc", "contract", "nsz", "arcp"}
#: Options of the compiled loops of all models. Nothing calls them by a C signature, so none is compiled for that.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "fastmath": FAST,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
#: Options of what loops call for each element. LLVM inlines it before it vectorises a loop; Numba would repeat its
#: source in each caller, and infer its types there, which more than doubles the time to compile.
INLINE: dict[str, Any] = {
    "nogil": True,
    "fastmath": FAST,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "forceinline": True,
}


def x_log_x(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x log x of an array, 0 where x is 0: SciPy's `xlogy` takes longer to import than a small fit."""
    return x * np.log(np.where(x > 0.0, x, 1.0))


_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_LN2 = 0.6931471805599453
_HALF_LOG_2PI = 0.9189385332046727


def _bitcast(source: Any, target: Any, target_bits: Any) -> Any:
    """Return a compiled function that reads the bits of a `source` as a `target`."""

    @intrinsic
    def read_bits(typingctx: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], target_bits)

        return target(source), codegen

    return read_bits


_bits_of = _bitcast(types.float64, types.int64, ir.IntType(64))
_float_of = _bitcast(types.int64, types.float64, ir.DoubleType())
_bits_of_single = _bitcast(types.float32, types.int32, ir.IntType(32))
_single_of = _bitcast(types.int32, types.float32, ir.FloatType())


@nb.njit(**INLINE)
def log(x: float) -> float:
    """Natural logarithm: exponent from the bits, mantissa by the series of 2 atanh((m - 1) / (m + 1))."""
    bits = _bits_of(x)
    exponent = (bits - _SQRT_HALF_BITS) >> 52
    mantissa = _float_of(bits - (exponent << 52))  # in [sqrt(1/2), sqrt(2))
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    series = 1.0 / 19.0
    series = series * z + 1.0 / 17.0
    series = series * z + 1.0 / 15.0
    series = series * z + 1.0 / 13.0
    series = series * z + 1.0 / 11.0
    series = series * z + 1.0 / 9.0
    series = series * z + 1.0 / 7.0
    series = series * z + 1.0 / 5.0
    series = series * z + 1.0 / 3.0
    return exponent * _LN2 + 2.0 * (s + s * z * series)


@nb.njit(**INLINE)
def rising7(x: float) -> float:
    """x (x + 1) … (x + 6) = Gamma(x + 7) / Gamma(x), in pairs: (x + 1) (x + 5) is x (x + 6) + 5."""
    outer = x * (x + 6.0)
    return outer * (outer + 5.0) * (outer + 8.0) * (x + 3.0)


@nb.njit(**INLINE)
def stirling(y: float) -> float:
    """Log Gamma for y >= 7 by Stirling's series."""
    r = 1.0 / y
    r2 = r * r
    tail = 1.0 / 12.0 - r2 * (
        1.0 / 360.0
        - r2 * (1.0 / 1260.0 - r2 * (1.0 / 1680.0 - r2 * (1.0 / 1188.0 - r2 * (691.0 / 360360.0))))
    )
    return (y - 0.5) * log(y) - y + _HALF_LOG_2PI + r * tail


@nb.njit(**INLINE)
def lgamma(x: float) -> float:
    """Log Gamma: Stirling's series at x + 7, shifted back."""
    return stirling(x + 7.0) - log(rising7(x))


@nb.njit(**INLINE)
def lgamma_two(x: float, y: float) -> float:
    """Log Gamma(x) + log Gamma(y), with one logarithm for both shifts."""
    return stirling(x + 7.0) + stirling(y + 7.0) - log(rising7(x) * rising7(y))


@nb.njit(**INLINE)
def lbeta(x: float, y: float) -> float:
    """Log Beta(x, y) = log Gamma(x) + log Gamma(y) - log Gamma(x + y)."""
    total = x + y
    return (
        stirling(x + 7.0)
        + stirling(y + 7.0)
        - stirling(total + 7.0)
        - log(rising7(x) * rising7(y) / rising7(total))
    )


@nb.njit(**INLINE)
def lbeta_large(x: float, y: float) -> float:
    """Log Beta(x, y) for y >= 7, where only x needs a shift: a quarter of the work less."""
    return stirling(x + 7.0) + stirling(y) - stirling(x + y) - log(rising7(x))


@nb.njit(**INLINE)
def trigamma(x: float) -> float:
    """Second derivative of log Gamma: the asymptotic series at x + 8, shifted back."""
    u, s = x * (x + 7.0), 2.0 * x + 7.0
    first, last = u * (u + 6.0), (u + 10.0) * (u + 12.0)
    r = 1.0 / (first * last)
    a, b, c, d = (u + 6.0) * last * r, u * last * r, first * (u + 12.0) * r, first * (u + 10.0) * r
    total = (s * s - 2.0 * u) * a * a + (s * s - 2.0 * u - 12.0) * b * b
    total += (s * s - 2.0 * u - 20.0) * c * c + (s * s - 2.0 * u - 24.0) * d * d
    r = 1.0 / (x + 8.0)
    r2 = r * r
    tail = 1.0 / 6.0 - r2 * (
        1.0 / 30.0 - r2 * (1.0 / 42.0 - r2 * (1.0 / 30.0 - r2 * (5.0 / 66.0 - r2 * (691.0 / 2730.0))))
    )
    return total + r * (1.0 + r * (0.5 + r * tail))


_SQRT_HALF_BITS_SINGLE = np.int32(0x3F3504F3)
_SHIFT_SINGLE = np.int32(23)
_ONE, _TWO, _LN2_SINGLE = np.float32(1), np.float32(2), np.float32(_LN2)
_THIRD, _FIFTH, _SEVENTH, _NINTH = (np.float32(1 / n) for n in (3, 5, 7, 9))


@nb.njit(**INLINE)
def log_single(x: np.float32) -> np.float32:
    """Natural logarithm in single precision; absolute error below 2e-7 + 1.2e-7 |log x|, for positive normal x."""
    bits = _bits_of_single(x)
    exponent = np.int32((bits - _SQRT_HALF_BITS_SINGLE) >> _SHIFT_SINGLE)
    mantissa = _single_of(np.int32(bits - np.int32(exponent << _SHIFT_SINGLE)))
    s = (mantissa - _ONE) / (mantissa + _ONE)
    z = s * s
    series = ((_NINTH * z + _SEVENTH) * z + _FIFTH) * z + _THIRD
    return np.float32(exponent) * _LN2_SINGLE + _TWO * (s + s * z * series)


_LOG2_E_DOUBLE, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.693147180369123816, 1.90821492927058770e-10
_INVERSE_FACTORIALS = tuple(1.0 / math.factorial(n) for n in range(13))


@nb.njit(**INLINE)
def exp(x: float) -> float:
    """exp(x), relative error below 1e-15; x outside [-700, 700] counts as the end it is beyond."""
    x = x if x < 700.0 else 700.0
    x = x if x > -700.0 else -700.0
    whole = np.floor(x * _LOG2_E_DOUBLE + 0.5)
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    series = _INVERSE_FACTORIALS[12]
    for n in range(11, -1, -1):
        series = series * r + _INVERSE_FACTORIALS[n]
    return series * _float_of((np.int64(whole) + 1023) << 52)


_LOG2_E, _HALF = np.float32(1.4426950408889634), np.float32(0.5)
_MOST_SINGLE, _BIAS_SINGLE = np.float32(60), np.int32(127)
_E2, _E3, _E4, _E5, _E6 = (np.float32(1 / n) for n in (2, 6, 24, 120, 720))


@nb.njit(**INLINE)
def exp_single(x: np.float32) -> np.float32:
    """exp(x) in single precision, relative error below 1e-5; x outside [-60, 60] counts as the end it is beyond."""
    x = x if x < _MOST_SINGLE else _MOST_SINGLE
    x = x if x > -_MOST_SINGLE else -_MOST_SINGLE
    whole = np.floor(x * _LOG2_E + _HALF)
    r = x - whole * _LN2_SINGLE
    series = _ONE + r * (_ONE + r * (_E2 + r * (_E3 + r * (_E4 + r * (_E5 + r * _E6)))))
    return series * _single_of(np.int32((np.int32(whole) + _BIAS_SINGLE) << _SHIFT_SINGLE))


@nb.njit(**INLINE)
def digamma(x: float) -> float:
    """Digamma: the asymptotic series at x + 8, brought back by the recurrence."""
    u = x * (x + 7.0)
    first, last = u * (u + 6.0), (u + 10.0) * (u + 12.0)
    below = (2.0 * x + 7.0) * ((2.0 * u + 6.0) * last + (2.0 * u + 22.0) * first) / (first * last)
    y = x + 8.0
    r = 1.0 / y
    f = r * r
    series = f * (1 / 12 - f * (1 / 120 - f * (1 / 252 - f * (1 / 240 - f * (1 / 132 - f * (691 / 32760))))))
    return log(y) - 0.5 * r - series - below
