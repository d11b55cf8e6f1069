"""The noise: known answers of Philox, the normal law, and independence of how it is cut into blocks."""

import numpy as np
import pytest
from scipy import stats

from cbo_pipeline.numerics.kernels import noise as noise_module
from cbo_pipeline.numerics.kernels.noise import Noise, philox_words
from cbo_pipeline.numerics.streams import Streams

# Known answers published with the Random123 library for philox4x32-10.
KNOWN_ANSWERS = [
    ([0, 0, 0, 0], [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_known_answers(counter, key, expected):
    words = np.zeros(4, np.uint32)
    philox_words(np.array(counter, np.uint32), np.array(key, np.uint32), words)
    assert words.tolist() == expected


def drawn(shape, iteration=0, layer=0, key=(1, 2), dtype=np.float32):
    x = np.zeros(shape, dtype)
    for rows, xi in Noise(key, iteration).blocks(x, layer):
        x[rows] = xi
    return x


def test_the_law_is_standard_normal():
    sample = drawn((1000, 2000)).ravel().astype(float)
    assert stats.kstest(sample, "norm").pvalue > 1e-3
    assert np.isclose(stats.kurtosis(sample), 0, atol=0.02)
    # Tails: as many beyond 4 sigma as there should be, within five standard errors.
    expected = sample.size * 2 * stats.norm.sf(4)
    assert abs(np.sum(np.abs(sample) > 4) - expected) < 5 * np.sqrt(expected)


def test_neighbours_rows_layers_and_iterations_are_uncorrelated():
    draws = [drawn((2, 100_000)), drawn((2, 100_000), layer=1), drawn((2, 100_000), iteration=1)]
    rows = np.concatenate(draws)
    shifted = np.concatenate([rows, np.roll(rows, 1, axis=1), np.roll(rows, 128, axis=1)])
    correlation = np.corrcoef(shifted)[np.triu_indices(len(shifted), 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(rows.shape[1])


def test_cutting_into_blocks_changes_nothing(monkeypatch):
    whole = drawn((37, 53))
    for block in (1, 100, 1000):
        monkeypatch.setattr(noise_module, "BLOCK", block)
        np.testing.assert_array_equal(drawn((37, 53)), whole)


def test_noise_is_a_function_of_seed_and_iteration():
    x = np.zeros((3, 5), np.float32)
    first = [xi.copy() for _, xi in Streams(7).noise(4).blocks(x, 0)]
    again = [xi.copy() for _, xi in Streams(7).noise(4).blocks(x, 0)]
    other = [xi.copy() for _, xi in Streams(8).noise(4).blocks(x, 0)]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_torch_tensors_get_the_same_numbers():
    torch = pytest.importorskip("torch")
    x = torch.zeros(11, 7)
    for rows, xi in Noise((1, 2), 0).blocks(x, 0):
        x[rows] = xi
    np.testing.assert_array_equal(x.numpy(), drawn((11, 7)))
