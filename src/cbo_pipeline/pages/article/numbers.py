"""Numbers and counts as a line of the article says them."""

import math
from collections.abc import Sequence


def number(value: float | None, digits: int = 2) -> str:
    """A number as text or, with a power of ten, as a formula.

    >>> number(0.334), number(5.8e-4), number(1e-10), number(1234.0), number(-2.34)
    ('0.33', '$5.8\\\\cdot 10^{-4}$', '$10^{-10}$', '1234', '−2.3')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value)).replace("-", "−")
    if 1e-2 <= abs(value) < 1e4:
        text = f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"
        return text.replace("-", "−")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if mantissa == "1" else rf"${mantissa}\cdot {power}$"


def interval(spread: Sequence[float | None] | None, digits: int = 2) -> str:
    """Both ends; one that JSON does not know is infinite."""
    if spread is None:
        return "–"
    low, high = spread
    return (
        f"{number(-math.inf if low is None else low, digits)} to {number(math.inf if high is None else high, digits)}"
    )


def counted(count: int, noun: str) -> str:
    """
    >>> counted(1, "run"), counted(0, "claim"), counted(3, "seed")
    ('1 run', 'no claims', '3 seeds')
    """
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1] if words else "none"


def sentence(text: str) -> str:
    """With a capital at its start and a point at its end."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".") if text else ""
