"""Two-layer networks: their parameters, their initial laws and the plain evaluation.

An ensemble of N networks is a dict of arrays whose first axis counts the particles:

    w (N, M, d)   inner weights        b (N, M)   inner biases
    c (N, M, O)   outer weights        a (N, O)   outer biases, where the network has them

with M neurons, d features and O outputs. One network is an ensemble of one. The arrays are numpy arrays, or
torch tensors where a problem runs on a device.
"""

import numpy as np

Networks = dict[str, np.ndarray]

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
    return {k: rng.uniform(-bound, bound, (N, *s)).astype(dtype) for k, s in shape.items()}


def pytorch_default(shape: dict[str, tuple[int, ...]], N: int, rng: np.random.Generator, dtype) -> Networks:
    """N networks with the law that torch.nn.Linear gives its parameters: U[-1/sqrt(fan_in), 1/sqrt(fan_in)]."""
    M, d = shape["w"]
    fan_in = {"w": d, "b": d, "c": M, "a": M}
    return {k: rng.uniform(-(fan_in[k] ** -0.5), fan_in[k] ** -0.5, (N, *s)).astype(dtype) for k, s in shape.items()}


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
    return len(networks["w"])


def squared_distances(networks: Networks, points: Networks) -> np.ndarray:
    """|theta_n - v_n|^2 in float64, (N,); ``points`` has one row, or one for each particle."""
    total = np.zeros(size(networks))
    for name, x in networks.items():
        for n in range(len(x)):
            v = points[name][n if len(points[name]) > 1 else 0]
            difference = np.asarray(x[n] - v, dtype=np.float64).ravel()
            total[n] += difference @ difference
    return total
