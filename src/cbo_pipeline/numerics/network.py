"""Two-layer networks: their parameters, their initial laws and the plain evaluation.

An ensemble of N networks is a dict of arrays whose first axis counts the particles:

    w (N, M, d)   inner weights        b (N, M)   inner biases
    c (N, M, O)   outer weights        a (N, O)   outer biases, where the network has them

with M neurons, d features and O outputs. One network is an ensemble of one. The arrays are numpy arrays, or
torch tensors where a problem runs on a device.
"""

from collections.abc import Iterator

import numpy as np

BLOCK = 1 << 18  # numbers of an ensemble that are copied together

Networks = dict[str, np.ndarray]

PARAMETERS = ("w", "b", "c", "a")
DIMENSIONS = {
    "w": ("neuron", "feature"),
    "b": ("neuron",),
    "c": ("neuron", "output"),
    "a": ("output",),
}


def shapes(M: int, d: int, outputs: int, outer_bias: bool) -> dict[str, tuple[int, ...]]:
    """The shape of every parameter of one network."""
    inner_and_outer = {"w": (M, d), "b": (M,), "c": (M, outputs)}
    return {**inner_and_outer, "a": (outputs,)} if outer_bias else inner_and_outer


def uniform(shape: dict[str, tuple[int, ...]], N: int, bound: float, rng: np.random.Generator, dtype) -> Networks:
    """N networks with independent parameters from U[-bound, bound]: rho^0 of Section 4."""
    return {k: _uniform((N, *s), bound, rng, dtype) for k, s in shape.items()}


def pytorch_default(shape: dict[str, tuple[int, ...]], N: int, rng: np.random.Generator, dtype) -> Networks:
    """N networks with the law that torch.nn.Linear gives its parameters: U[-1/sqrt(fan_in), 1/sqrt(fan_in)]."""
    M, d = shape["w"]
    fan_in = {"w": d, "b": d, "c": M, "a": M}
    return {k: _uniform((N, *s), fan_in[k] ** -0.5, rng, dtype) for k, s in shape.items()}


def _uniform(shape: tuple[int, ...], bound: float, rng: np.random.Generator, dtype) -> np.ndarray:
    """The numbers of one call of ``rng.uniform``, but drawn in blocks: it draws in double precision."""
    values = np.empty(shape, dtype)
    for rows in row_blocks(values):
        values[rows] = rng.uniform(-bound, bound, values[rows].shape)
    return values


def evaluate(networks: Networks, x: np.ndarray, scale: float) -> np.ndarray:
    """Values (N, S, O) of N networks at the points x (S, d): scale * c^T relu(W x + b) + a, in float64.

    With scale = 1/M this is Eq. (intro:disc_nn), with scale = 1 Eq. (intro:nn_matrix). It is the plain
    formula, O(N M S d): what the fast evaluations are tested against.
    """
    w, b, c = (networks[k].astype(np.float64) for k in "wbc")
    hidden = np.maximum(np.einsum("nmd,sd->nsm", w, x) + b[:, None, :], 0.0)
    values = scale * np.einsum("nsm,nmo->nso", hidden, c)
    return values + networks["a"][:, None, :] if "a" in networks else values


def select(networks: Networks, rows) -> Networks:
    """The ensemble of the given rows."""
    return {name: x[rows] for name, x in networks.items()}


def size(networks: Networks) -> int:
    """N, the number of networks."""
    return len(next(iter(networks.values())))


def atoms(networks: Networks) -> np.ndarray:
    """The atoms (w, b, c) of every network, Eq. (eq:empirical_measures_experiment): (N, M, d + 1 + O)."""
    return np.concatenate([networks["w"], networks["b"][:, :, None], networks["c"]], axis=2)


def of_atoms(points: np.ndarray, like: Networks) -> Networks:
    """The inverse of ``atoms``, with the features and outputs of the networks ``like``."""
    d = like["w"].shape[2]
    parts = {"w": points[:, :, :d], "b": points[:, :, d], "c": points[:, :, d + 1 :]}
    return {name: np.ascontiguousarray(parts[name]) for name in like}


def zeros_like(networks: Networks) -> Networks:
    """An ensemble of the same shape on the same device, all zero."""
    return {k: np.zeros_like(x) if isinstance(x, np.ndarray) else x.new_zeros(x.shape) for k, x in networks.items()}


def in_numpy(x):
    """A tensor in main memory as a numpy array that shares it: small operations cost less there. Else x itself."""
    return x.numpy() if not isinstance(x, np.ndarray) and x.device.type == "cpu" else x


def row_blocks(x) -> Iterator[slice]:
    """Cut the rows of x into blocks, so that temporary copies stay small."""
    rows = max(1, BLOCK * len(x) // max(1, x.size if isinstance(x, np.ndarray) else x.numel()))
    return (slice(first, min(first + rows, len(x))) for first in range(0, len(x), rows))


def squared_distances(networks: Networks, points: Networks) -> np.ndarray:
    """|theta_n - v_n|^2 in float64, (N,); ``points`` has one row, or one for each particle."""
    total = np.zeros(size(networks))
    for name in networks:
        x, v = in_numpy(networks[name]), in_numpy(points[name])
        for rows in row_blocks(x):
            difference = (x[rows] - v[rows if len(v) > 1 else slice(1)]).reshape(rows.stop - rows.start, -1)
            if isinstance(x, np.ndarray):
                difference = difference.astype(np.float64, copy=False)
                total[rows] += np.einsum("nd,nd->n", difference, difference)
            else:
                total[rows] += difference.double().square().sum(1).cpu().numpy()
    return total
