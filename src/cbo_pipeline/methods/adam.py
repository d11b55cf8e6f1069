"""Adam, Section 3.2 of the paper, by PyTorch's own optimiser."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cbo_pipeline.methods.base import Method, State, View
from cbo_pipeline.numerics.consensus import Diverged
from cbo_pipeline.numerics.network import Networks


@dataclass(frozen=True)
class Adam(Method):
    """torch.optim.Adam, Eqs. (eq:adam_moments) and (eq:adam_moments_normal), with learning rate dt."""

    dt: float
    initial: str
    initial_bound: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.999
    delta: float = 1e-8

    needs_gradients: ClassVar[bool] = True
    copies: ClassVar[int] = 6  # parameters, gradient, two moments, and two more inside a step

    @classmethod
    def check(cls, settings, M, N):
        return ("N", f"Adam trains one network: N must be 1, not {N}") if N != 1 else None

    def start(self, problem, N, rng) -> State:
        parameters = problem.initial(self.initial, self.initial_bound, N, rng)
        zeros = {name: 0 * x for name, x in parameters.items()}
        return self.restored(
            {
                "particles": parameters,
                "first": {name: 0 * x for name, x in parameters.items()},
                "second": zeros,
                "steps": {"taken": np.zeros((), np.int64)},
            }
        )

    def look(self, state, problem, batch, clock) -> View:
        """The risk and its gradient d^k, Eq. (eq:stochastic_gradient); the gradient goes to the optimiser."""
        particles = state["particles"]
        risks = problem.risks_and_gradients(particles, batch, state["gradient"])
        if not np.isfinite(risks).all():
            raise Diverged
        return View(risks, particles, particles)

    def move(self, state, view, clock, noise) -> State:
        state["optimiser"].step()
        return state

    def variance(self, state, view) -> float:
        return 0.0

    def arrays(self, state) -> State:
        optimiser = state["optimiser"]
        tensors = dict(zip(state["particles"], optimiser.param_groups[0]["params"], strict=True))
        moments = {name: optimiser.state[tensor] for name, tensor in tensors.items()}
        return {
            "particles": state["particles"],
            "first": {name: m["exp_avg"].cpu().numpy() for name, m in moments.items()},
            "second": {name: m["exp_avg_sq"].cpu().numpy() for name, m in moments.items()},
            "steps": {"taken": np.asarray(int(next(iter(moments.values()))["step"]))},
        }

    def restored(self, arrays) -> State:
        """A torch optimiser over the parameters, whose memory it shares."""
        import torch

        torch.set_num_threads(1)
        parameters: Networks = arrays["particles"]
        tensors = {name: torch.as_tensor(x) for name, x in parameters.items()}
        optimiser = torch.optim.Adam(
            list(tensors.values()), lr=self.dt, betas=(self.beta1, self.beta2), eps=self.delta
        )
        for name, tensor in tensors.items():
            tensor.grad = torch.zeros_like(tensor)
            optimiser.state[tensor] = {
                "step": torch.tensor(float(arrays["steps"]["taken"])),
                "exp_avg": torch.as_tensor(arrays["first"][name]).to(tensor.device),
                "exp_avg_sq": torch.as_tensor(arrays["second"][name]).to(tensor.device),
            }
        gradient = {
            name: t.grad.numpy() if isinstance(parameters[name], np.ndarray) else t.grad
            for name, t in tensors.items()
        }
        return {"particles": parameters, "gradient": gradient, "optimiser": optimiser}
