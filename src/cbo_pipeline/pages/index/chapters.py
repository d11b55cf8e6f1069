"""What the page says, in the order of the paper: our words, and which figures, settings and claims belong to them.

Formulas stand between dollar signs, names of files and keys between backquotes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from cbo_pipeline.pages.index.charts.mnist import digits, mnist_rates, mnist_training
from cbo_pipeline.pages.index.charts.multi_task import memory, multi_task_examples, multi_task_training
from cbo_pipeline.pages.index.charts.sine import gathering, precision, sine_example, sine_training
from cbo_pipeline.pages.index.charts.square import mean_field, square_training
from cbo_pipeline.pages.index.charts.theory import consensus_condition, variance_decay
from cbo_pipeline.pages.index.content import Content
from cbo_pipeline.pages.index.vega import Chart

RISK = r"empirical risk $\hat{R}(\theta)$"


@dataclass(frozen=True)
class Picture:
    """A figure: its label among the static figures, its number in the paper, what to see, and the interactive chart
    if it has one.
    """

    label: str
    number: str
    caption: str
    chart: Callable[[Content], Chart | None] | None = None
    title: str = ""  # of the vertical axis
    half: bool = False  # stands beside its neighbour on a wide screen


@dataclass(frozen=True)
class Evidence:
    """What a claim is judged by: summaries of experiments, and other files of the results."""

    experiments: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chapter:
    """A part of the paper."""

    id: str
    section: str
    title: str
    asked: str
    text: tuple[str, ...] = ()
    formula: str = ""
    after_formula: str = ""
    settings: tuple[tuple[str, tuple[str, ...]], ...] = ()  # experiments and their variants
    pictures: tuple[Picture, ...] = ()
    claims: dict[int, Evidence] = field(default_factory=dict)


CHAPTERS = (
    Chapter(
        "cbo",
        "Section 3.3",
        "Consensus-based optimisation",
        "Can networks be trained without gradients, by an ensemble that agrees with itself?",
        (
            r"CBO moves $N$ networks, its particles, with parameters $\theta_1,\dots,\theta_N$. Each is drawn"
            " towards a"
            r" consensus point $V$, a mean of all particles in which those of small risk $\hat{R}$ count most. Noise"
            " in"
            r" proportion to the distance from $V$ keeps them exploring, and dies out as they agree:",
        ),
        r"\theta_n^{k+1} = \theta_n^k - \lambda\,\Delta t\,(\theta_n^k - V^k)"
        r" + \tilde\sigma\sqrt{\Delta t}\,(\theta_n^k - V^k)\odot\xi_n^k",
        r"with $V^k = \sum_n \beta(\theta_n^k)\,\theta_n^k$ and weights $\beta(\theta)$ proportional to"
        r" $\exp(-\alpha\hat{R}(\theta))$. The paper recalls that the particles agree only if"
        r" $2\lambda > \tilde\sigma^2$,"
        r" whatever the number of parameters.",
        pictures=(
            Picture(
                "gathering",
                "",
                "The ensemble gathers around the sine: each thin line is the approximation by one particle, the thick"
                " one that by the consensus point. Move the slider, or let it play.",
                gathering,
                "$y$",
            ),
            Picture(
                "consensus_condition",
                "",
                r"By how many decades the variance of the ensemble changed, run by run, against"
                r" $\tilde\sigma^2/(2\lambda)$."
                " To the left of the dotted line the condition holds; to the left of the other, the one for steps of"
                r" $\Delta t$. Points far below zero are ensembles that agreed.",
                consensus_condition,
            ),
        ),
        claims={16: Evidence(("consensus_condition",))},
    ),
    Chapter(
        "sine",
        "Section 4.1, Example 1",
        "The sine",
        r"Does CBO train a two-layer network to approximate $\sin(2\pi x)$ on $[0,1]$, and how does it compare with"
        " Adam in risk and in stability?",
        settings=(("sine", ("cbo", "adam")),),
        pictures=(
            Picture(
                "sine_training",
                "Figure 2",
                "Empirical risk per epoch, CBO against Adam. Switch curves on and off in the legend, show single"
                " seeds, drag over the strip below to zoom in (a double click zooms out).",
                sine_training,
                RISK,
            ),
            Picture(
                "sine_example",
                "Figure 3",
                "The approximations by the typical run of each method, the one whose last risk is the median over the"
                " seeds, with some of the training data.",
                sine_example,
                "$y$",
            ),
            Picture(
                "precision",
                "",
                "Ours: why CBO stands still and then goes on. How far the particles differ in the typical parameter,"
                " relative to its value: one line for each run. After some hundred epochs they agree to the last"
                " digits, and noise in proportion to their distance cannot part them again. What can is rounding: it"
                r" keeps them a few units in the last place apart, and once $\alpha$ has grown, their risks differ"
                " enough at that distance. Show the risk instead, and see which runs go on: those whose spread grew"
                " again. In double precision the units are smaller, and it happens less often.",
                precision,
                "spread of the particles",
            ),
        ),
        claims={1: Evidence(("sine",)), 2: Evidence(("sine",)), 3: Evidence(("sine",))},
    ),
    Chapter(
        "mnist",
        "Section 4.2, Example 2",
        "The digits of MNIST",
        "Can CBO train a classifier, and does a hybrid, which takes a share of each step from Adam and the rest from"
        " CBO, converge faster than either?",
        settings=(("mnist", ("cbo", "adam", "hybrid")),),
        pictures=(
            Picture(
                "comparison_cbo_adam",
                "Figure 4",
                "Empirical risk per epoch of CBO, Adam and the hybrid, each with its own time step. The accuracy on"
                " the 10 000 test images, which the paper does not show, can be switched on.",
                mnist_training,
                RISK,
            ),
            Picture(
                "mnist_learning_rates",
                "",
                "Adam at the learning rates of the sweep, every seed. Leaps by decades at the larger rates are what"
                " the paper calls unstable; a median would hide them. Where they were run: the same in double"
                r" precision (dotted) and with a larger $\delta$ in the denominator of Adam's step (switched off at"
                " first), and the hybrid, with fewer particles than the paper's thousand where its name says so.",
                mnist_rates,
                RISK,
            ),
            Picture(
                "digits",
                "",
                "The first test images, and what the network says they are as training goes on.",
                digits,
            ),
        ),
        claims={
            4: Evidence(("mnist",), ("cost/mnist/*.json",)),
            5: Evidence(("mnist",), ("cost/mnist/*.json",)),
            6: Evidence(("mnist",)),
        },
    ),
    Chapter(
        "multi-task",
        "Sections 3.4.2 and 4.3, Example 3",
        "Many tasks, one ensemble",
        r"Can one ensemble serve $P = 100$ tasks at once, $\sin(2\pi x) + \Delta y_p$ with shifts $\Delta y_p$ from"
        " $-1$"
        r" to $1$, by recycling its particles, and what does that save?",
        settings=(("multi_task", ("multi_task_cbo",)),),
        pictures=(
            Picture(
                "diagram_multi_task",
                "Figure 1",
                "Single-task and Multi-Task CBO. Here the particles are those of a real run with one neuron, whose"
                " two parameters are the axes.",
            ),
            Picture(
                "multi_task_training",
                "Figure 5",
                "Median and minimum of the risk over the tasks, per epoch; mean over the seeds.",
                multi_task_training,
                RISK,
            ),
            Picture(
                "multi_task_examples",
                "Figure 6",
                "Five of the tasks and their approximations.",
                multi_task_examples,
                "$y$",
            ),
            Picture(
                "multi_task_memory",
                "",
                "What recycling saves: the same tasks by one shared ensemble, and by one ensemble for each.",
                memory,
            ),
        ),
        claims={
            7: Evidence(("multi_task",)),
            8: Evidence(("multi_task",)),
            9: Evidence(("multi_task_memory",), ("cost/multi_task_memory/*.json",)),
        },
    ),
    Chapter(
        "mean-field",
        "Sections 5.1 and 5.2",
        "Networks as measures",
        r"As the width $M$ grows, a network becomes a measure on its neurons' parameters, and the consensus point a"
        " barycentre in the Wasserstein space. What can be proved there?",
        (
            r"Proposition 2 says what the barycentre of empirical measures is. Proposition 3 bounds the variance"
            r" $\mathcal{V}$ of the law $\rho^k$ of the particles under the scheme without noise:",
        ),
        r"\mathcal{V}(\rho^{k+1}) \leq (1-\Delta t)^2\,\mathcal{V}(\rho^k)",
        pictures=(
            Picture(
                "meanfield_diagram",
                "Figure 7",
                r"The mean-field limits. The paper follows the blue path: first $M$, then $N$ to infinity.",
            ),
            Picture(
                "variance_decay",
                "",
                r"Proposition 3 step by step: the variance without noise relative to its first value, every run, and"
                " the bounds"
                r" $(1-\Delta t)^{2k}$ that follow; or their ratio, where one is the bound. The proposition is"
                " stated for equal weights; the Gibbs weights of the algorithm are beside it, switched off.",
                variance_decay,
                r"$\mathcal{V}(\rho^k) / \mathcal{V}(\rho^0)$",
            ),
        ),
        claims={14: Evidence((), ("checks/barycentres.json",)), 15: Evidence(("variance_decay",))},
    ),
    Chapter(
        "square",
        "Section 5.3, Example 4",
        "The square",
        r"Does optimal-transport CBO train networks for $x \mapsto x^2$ that get better with the width $M$ and with"
        " the"
        r" number $N$ of particles, as both mean-field models suggest?",
        settings=(("square", ("ot_cbo",)),),
        pictures=(
            Picture(
                "mean_field_M",
                "Figure 8",
                r"Risk at the last epoch against the width $M$: every run, and their mean.",
                lambda content: mean_field(content, "M"),
                half=True,
            ),
            Picture(
                "mean_field_N",
                "Figure 9",
                r"The same against the number $N$ of particles.",
                lambda content: mean_field(content, "N"),
                half=True,
            ),
            Picture(
                "square_training",
                "",
                "Risk per epoch for every width and ensemble size of Figures 8 and 9.",
                square_training,
                r"empirical risk $\hat{R}(\mu)$",
            ),
        ),
        claims={
            10: Evidence(("square",)),
            11: Evidence(("square",)),
            12: Evidence(("square",)),
            13: Evidence(("square",), ("cost/square/*.json",)),
        },
    ),
)
