"""A variant may start from another one: ``from: cbo``, or ``from: square/ot_cbo`` of another experiment.

It is resolved after all files are laid over each other, so that a change of ``cbo`` reaches all that start from it.
What a variant says itself wins; then come the variants of its own experiment that it starts from, then the keys of
its experiment, and last what it takes over from other experiments: the keys under their variants, not those of the
whole experiment, and not M, N, grid and seeds. A sweep is not taken over.
"""

from cbo_pipeline import methods
from cbo_pipeline.config import messages
from cbo_pipeline.config.keys import GRID_KEYS
from cbo_pipeline.config.resolving import laid_over


def own_settings(experiments: dict, experiment: str, variant: str) -> dict:
    """The settings of a variant with all that it starts from, and with its method's name if that is not its own."""
    result: dict = {}
    for where, name in reversed(_chain(experiments, experiment, variant)):
        hidden = {"method", "from"}
        if (where, name) != (experiment, variant):
            hidden |= {"sweep"}
        if where != experiment:
            hidden |= {*GRID_KEYS, *experiments[experiment]}
        own = experiments[where]["methods"][name]
        result = laid_over(result, {key: value for key, value in own.items() if key not in hidden})
    method = _method(experiments, experiment, variant)
    return result if method == variant else {"method": method, **result}


def _method(experiments: dict, experiment: str, variant: str) -> str:
    """The method that a variant names; else its own name if that is a method; else that of the one it starts from."""
    chain = _chain(experiments, experiment, variant)
    for where, name in chain:
        own = experiments[where]["methods"][name]
        if "method" in own:
            return own["method"]
        if name in methods.names():
            return name
    return variant if len(chain) == 1 else chain[-1][1]


def _chain(experiments: dict, experiment: str, variant: str) -> list[tuple[str, str]]:
    """The variant, the one that it starts from, and so on."""
    chain = [(experiment, variant)]
    while True:
        where, name = chain[-1]
        own = experiments[where]["methods"][name]
        if "from" not in own:
            return chain
        place = f"experiments.{where}.methods.{name}.from"
        other, slash, base = own["from"].rpartition("/")
        other = other if slash else where
        messages.require_known(other, experiments, place, "experiment")
        messages.require_known(base, experiments[other]["methods"], place, f"variant of {other}")
        if (other, base) in chain:
            loop = " -> ".join("/".join(step) for step in [*chain, (other, base)])
            raise messages.refuse(place, f"the variants start from each other ({messages.one_line(loop)})", "loop")
        chain.append((other, base))
