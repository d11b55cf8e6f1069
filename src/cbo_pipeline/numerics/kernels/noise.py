"""Standard normal noise as a pure function of (key, iteration, position).

The generator is Philox4x32-10 (Salmon et al., SC 2011): a counter goes in, four random words come out,
and no state is carried. A killed run therefore continues with the noise it would have had, and the noise
of an ensemble does not depend on how it is cut into blocks. The Box-Muller transform turns words into
normals. Both are written so that the compiler vectorises them (about 2 ns per number, against 9 ns for
``numpy.random.Generator.standard_normal``), with additions and multiplications only, so that the numbers
are the same on every machine with IEEE arithmetic.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cbo_pipeline.numerics.kernels.compiler import kernel

LANES = 128  # counters handled together: small enough for the first-level cache
CHUNK = 4 * LANES  # normals made together
BLOCK = 1 << 15  # numbers handed out together: noise and update stay in the second-level cache

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)

# sin(pi r) = r (S0 + S1 r^2 + ...) on [-1/2, 1/2], minimax to 2e-9.
_S0, _S1, _S2, _S3, _S4 = (np.float32(s) for s in (3.14159265, -5.16771254, 2.55014010, -0.59914992, 0.07746043))
_LN2 = np.float32(0.69314718)


@kernel(inline="always")
def _philox(c0, c1, c2, c3, k0, k1):
    """Ten Philox rounds on one counter; all arguments and results are 32-bit words held in uint64."""
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _LOW, (p0 >> _HALF) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + np.uint64(_W0)) & _LOW, (k1 + np.uint64(_W1)) & _LOW
    return c0, c1, c2, c3


@kernel
def philox_words(counter, key, words):
    """Fill ``words`` (uint32[4]) with the output for ``counter`` (uint32[4]) and ``key`` (uint32[2])."""
    c0, c1, c2, c3 = (
        np.uint64(counter[0]),
        np.uint64(counter[1]),
        np.uint64(counter[2]),
        np.uint64(counter[3]),
    )
    c0, c1, c2, c3 = _philox(c0, c1, c2, c3, np.uint64(key[0]), np.uint64(key[1]))
    words[0], words[1], words[2], words[3] = c0, c1, c2, c3


@kernel
def _uniform_words(first, iteration, stream, key, words):
    """Words for the counters first, first + 1, ...: four rows of LANES words."""
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    i0, c3 = np.uint64(iteration) & _LOW, np.uint64(stream)
    w0, w1, w2, w3 = words[0], words[1], words[2], words[3]
    for lane in range(LANES):
        position = np.uint64(first) + np.uint64(lane)
        a, b, c, d = _philox(position & _LOW, position >> _HALF, i0, c3, k0, k1)
        w0[lane], w1[lane], w2[lane], w3[lane] = a, b, c, d


@kernel
def _box_muller(first, second, floats, bits, cosine, sine):
    """Two rows of normals from two rows of words: sqrt(-2 log u) (cos, sin)(pi t), u in (0, 1], t in [-1, 1)."""
    for lane in range(LANES):
        floats[lane] = (np.float32(first[lane]) + np.float32(0.5)) * np.float32(2.0**-32)
    for lane in range(LANES):
        # u = 2^e m with m in [sqrt(1/2), sqrt(2)): log u = e log 2 + 2 artanh((m - 1) / (m + 1)).
        shifted = bits[lane] - np.int32(0x3F3504F3)
        exponent = shifted >> np.int32(23)
        cosine[lane] = np.float32(exponent) * _LN2
        bits[lane] = (shifted & np.int32(0x007FFFFF)) + np.int32(0x3F3504F3)
    for lane in range(LANES):
        s = (floats[lane] - np.float32(1)) / (floats[lane] + np.float32(1))
        q = s * s
        tail = np.float32(1 / 5) + q * (np.float32(1 / 7) + q * np.float32(1 / 9))
        log = cosine[lane] + np.float32(2) * s * (np.float32(1) + q * (np.float32(1 / 3) + q * tail))
        minus_two_log = np.float32(-2) * log
        radius = np.sqrt(minus_two_log if minus_two_log > np.float32(0) else np.float32(0))
        t = np.float32(np.int32(second[lane])) * np.float32(2.0**-31)
        away = abs(t)
        u = np.float32(0.5) - away
        v = np.float32(1) - away if away > np.float32(0.5) else away
        uu, vv = u * u, v * v
        sin_v = v * (_S0 + vv * (_S1 + vv * (_S2 + vv * (_S3 + vv * _S4))))
        cosine[lane] = radius * u * (_S0 + uu * (_S1 + uu * (_S2 + uu * (_S3 + uu * _S4))))
        sine[lane] = radius * (-sin_v if t < np.float32(0) else sin_v)


@kernel
def chunk_space():
    """The memory that ``normals_of_chunk`` needs: words, floats, normals."""
    return np.empty((4, LANES), np.uint32), np.empty(LANES, np.float32), np.empty((4, LANES), np.float32)


@kernel
def normals_of_chunk(chunk, iteration, stream, key, space):
    """The normals at the positions chunk * CHUNK, chunk * CHUNK + 1, ..., in the last part of ``space``."""
    words, floats, normals = space
    bits = floats.view(np.int32)
    _uniform_words(chunk * LANES, iteration, stream, key, words)
    _box_muller(words[0], words[1], floats, bits, normals[0], normals[1])
    _box_muller(words[2], words[3], floats, bits, normals[2], normals[3])


@kernel
def _fill(out, start, iteration, stream, key):
    """Fill the flat float32 array ``out`` with the normals at the positions start, start + 1, ..."""
    space = chunk_space()
    flat = space[2].reshape(CHUNK)
    done = 0
    while done < out.size:
        chunk, skip = (start + done) // CHUNK, (start + done) % CHUNK
        normals_of_chunk(chunk, iteration, stream, key, space)
        length = min(CHUNK - skip, out.size - done)
        out[done : done + length] = flat[skip : skip + length]
        done += length


@dataclass(frozen=True)
class Noise:
    """The normals of one iteration: ``key`` belongs to the seed, ``iteration`` counts from 0."""

    key: tuple[int, int]
    iteration: int

    def blocks(self, x, layer: int) -> Iterator[tuple[slice, object]]:
        """Walk over the rows of ``x`` in cache-sized blocks: pairs of (rows, normals shaped like x[rows]).

        ``layer`` numbers the arrays of one ensemble, so that each has noise of its own. The normals live in
        a buffer that the next block overwrites, and may be overwritten by the caller too.
        """
        row = x[0].size if isinstance(x, np.ndarray) else x[0].numel()
        rows_per_block = max(1, min(len(x), BLOCK // row))
        draw = self._numpy_block if isinstance(x, np.ndarray) else self._torch_block
        for first in range(0, len(x), rows_per_block):
            rows = slice(first, min(first + rows_per_block, len(x)))
            yield rows, draw(x[rows], layer, first * row)

    def _numpy_block(self, like: np.ndarray, layer: int, start: int) -> np.ndarray:
        out = np.empty(like.shape, np.float32)
        _fill(out.reshape(-1), start, self.iteration, layer, np.array(self.key, np.uint32))
        return out.astype(like.dtype, copy=False)

    def _torch_block(self, like, layer: int, start: int):
        import torch

        if like.device.type == "cpu":
            return torch.from_numpy(self._numpy_block(like.numpy(), layer, start))
        # Other devices draw from their own generator: as reproducible, but other numbers than on a CPU.
        words = np.zeros(4, np.uint32)
        counter = np.array([start & 0xFFFFFFFF, start >> 32, self.iteration, layer], np.uint32)
        philox_words(counter, np.array(self.key, np.uint32), words)
        generator = torch.Generator(like.device).manual_seed(int(words[0]) << 31 | int(words[1]) >> 1)
        return torch.randn(like.shape, generator=generator, device=like.device, dtype=like.dtype)
