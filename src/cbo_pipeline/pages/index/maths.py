"""Mathematics as MathML, and plain text from results with its mathematics set."""

import functools
import html
import re
from collections.abc import Callable, Iterator


@functools.cache
def math(tex: str) -> str:
    """A formula in TeX as inline MathML."""
    from latex2mathml.converter import convert

    return convert(tex)


@functools.cache
def display(tex: str) -> str:
    """A formula in TeX as MathML on a line of its own."""
    from latex2mathml.converter import convert

    return convert(tex, display="block")


def words(text: str) -> str:
    """Our own text as HTML: escaped, its formulas between dollar signs set, names between backquotes as code."""
    parts = re.split(r"\$(.+?)\$", text)
    return "".join(math(part) if k % 2 else _code(part) for k, part in enumerate(parts))


def _code(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", html.escape(text, quote=False))


# What judges write in plain letters, and how it is set. The patterns see escaped text.
_SET = (
    (r"(\d(?:\.\d+)?)e([+-]?)0*(\d+)\b", lambda m: _scientific(*m.groups())),
    (r"\(1 - dt\)\^2", lambda m: math(r"(1-\Delta t)^2")),
    (r"2 lambda &gt; sigma\^2 \+ lambda\^2 dt", lambda m: math(r"2\lambda > \tilde\sigma^2 + \lambda^2\Delta t")),
    (r"2 lambda &gt; sigma\^2", lambda m: math(r"2\lambda > \tilde\sigma^2")),
    (r"sigma\^2 &lt; 2 lambda", lambda m: math(r"\tilde\sigma^2 < 2\lambda")),
    (r"sigma\^2 / \(2 lambda\)", lambda m: math(r"\tilde\sigma^2/(2\lambda)")),
    (
        r"sigma\^2 = ([\d.]+) \* 2 lambda",
        lambda m: math(rf"\tilde\sigma^2 = {m[1]}\cdot 2\lambda"),
    ),
    (r"\b([\d.]+) \* 2 lambda", lambda m: math(rf"{m[1]}\cdot 2\lambda")),
    (r"\bsigma\^2", lambda m: math(r"\tilde\sigma^2")),
    (r"\bsigma\b", lambda m: math(r"\tilde\sigma")),
    (r"\blambda\b", lambda m: math(r"\lambda")),
    (r"\bdt\b", lambda m: math(r"\Delta t")),
    (r"\blog10\b", lambda m: "log<sub>10</sub>"),
    (r"\bM = N = (\d+)", lambda m: math(f"M = N = {m[1]}")),
    (r"\b([MNP])\b(?=[ ,.;:)]|$|&)", lambda m: f"<i>{m[1]}</i>"),
)


def typeset(text: str) -> str:
    """Plain text from results as HTML: escaped, with numbers and symbols set as mathematics.

    >>> typeset("risk < 1e-3")
    'risk &lt; 10<sup>−3</sup>'
    """
    pieces = [(False, html.escape(text, quote=False))]
    for pattern, how in _SET:
        pieces = [new for done, piece in pieces for new in ([(True, piece)] if done else _split(pattern, how, piece))]
    return "".join(piece for _, piece in pieces)


def _split(pattern: str, how: Callable[[re.Match], str], text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces: (True, what was set) and (False, what is still plain)."""
    end = 0
    for found in re.finditer(pattern, text):
        yield False, text[end : found.start()]
        yield True, how(found)
        end = found.end()
    yield False, text[end:]


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: 0.334, 1.1·10⁻¹⁵, −2.34.

    >>> number(0.33413), number(-2.3427, 2), number(None)
    ('0.334', '−2.3', '–')
    >>> number(1.11e-15)
    '1.11·10<sup>−15</sup>'
    """
    if value is None or value != value:
        return "–"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return _scientific(mantissa, "-" if exponent[0] == "-" else "", str(abs(int(exponent))))
    return text.replace("-", "−")


def _scientific(mantissa: str, sign: str, exponent: str) -> str:
    power = f"10<sup>{'−' if sign == '-' else ''}{exponent.lstrip('0') or '0'}</sup>"
    return power if mantissa in ("1", "1.0") else f"{mantissa.replace('-', '−')}·{power}"
