"""How far the workflow is and how long it will still take, as a line of Snakemake's own log.

Snakemake counts jobs, and a job may take a second or an hour. Here each job has an expected time: at first by the
settings of its run, then, as soon as a job of its kind has ended, by what that took. How fast the machine gets on
with them, on however many cores and whatever else it does, tells the time that is left.
"""

import logging
import math
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from cbo_pipeline import problems
from cbo_pipeline.config import Run
from cbo_pipeline.results.job_times import span

EVERY = 10.0  # seconds between two lines, at the least
START = 2.0  # seconds in which Python and its libraries are loaded, and a job without training is mostly done
BELIEF = 60.0  # seconds of work after which the speed that was seen counts as much as the one that was expected
NO_WORK = ("all", "readings")  # rules that only ask for files


@dataclass(frozen=True)
class Job:
    """A job that is to be done: jobs of one kind take about as long as each other."""

    id: int
    kind: Hashable
    seconds: float


class Forecast:
    """Which jobs are done, and how long the others will take."""

    def __init__(self, jobs: Iterable[Job], cores: int, clock: Callable[[], float] = time.monotonic):
        self.jobs = {job.id: job for job in jobs}
        self.cores, self.clock = max(1, min(cores, len(self.jobs))), clock
        self.begin = clock()
        self.started: dict[int, float] = {}
        self.done: dict[int, float] = {}

    def start(self, id: int) -> None:
        if id in self.jobs:
            self.started[id] = self.clock()

    def finish(self, id: int) -> None:
        if id in self.jobs:
            self.done[id] = self.clock() - self.started.get(id, self.begin)

    def elapsed(self) -> float:
        return self.clock() - self.begin

    def left(self) -> float:
        """Seconds until all jobs are done."""
        expected = self._expected()
        work = {id: expected[job.kind] for id, job in self.jobs.items()}
        now = self.clock()
        behind = sum(work[id] for id in self.done)
        behind += sum(min(work[id], now - t) for id, t in self.started.items() if id not in self.done)
        speed = (behind + BELIEF) / (self.elapsed() + BELIEF / self.cores)
        return (sum(work.values()) - behind) / speed

    def _expected(self) -> dict[Hashable, float]:
        """Seconds of a job by its kind: what those took that are done, or what was thought before."""
        expected = {job.kind: job.seconds for job in self.jobs.values()}
        measured: dict[Hashable, list[float]] = {}
        for id, seconds in self.done.items():
            measured.setdefault(self.jobs[id].kind, []).append(seconds)
        return {**expected, **{kind: sum(found) / len(found) for kind, found in measured.items()}}

    def line(self) -> str:
        """What a person wants to know.

        >>> forecast = Forecast([Job(1, "a", 100), Job(2, "a", 100)], cores=2, clock=iter([0.0, 0.0, 0.0]).__next__)
        >>> forecast.line()
        '2 jobs: about 1 min 40 s'
        """
        if not self.done:
            return f"{len(self.jobs)} jobs: about {about(self.left())}"
        left = f"about {about(self.left())} left" if len(self.done) < len(self.jobs) else "nothing left"
        return f"{len(self.done)} of {len(self.jobs)} jobs done in {about(self.elapsed())}, {left}"


def about(seconds: float) -> str:
    """A time in words, as exactly as a forecast can be.

    >>> about(3.2), about(98), about(1234), about(10000)
    ('5 s', '1 min 40 s', '21 min', '2 h 47 min')
    """
    step = 5 if seconds < 60 else 10 if seconds < 600 else 60
    whole = step * math.ceil(seconds / step)
    return f"{whole} s" if whole < 60 else span(whole).removesuffix(" 0 s")


class Line(logging.Handler):
    """Hears what Snakemake logs, and says how far it is."""

    def __init__(self, forecast: Forecast, say: Callable[[str], None]):
        super().__init__(logging.INFO)
        self.forecast, self.say = forecast, say
        self.said = forecast.begin

    def emit(self, record: logging.LogRecord) -> None:
        event = str(getattr(record, "event", ""))
        if event == "job_started":
            for id in record.jobs or ():
                self.forecast.start(id)
        elif event == "job_finished":
            self.forecast.finish(record.job_id)
        elif event == "progress" and self.forecast.clock() - self.said >= EVERY:
            self.said = self.forecast.clock()
            self.say(self.forecast.line())


def follow(workflow, logger: logging.Logger) -> None:
    """Tell the progress of Snakemake's workflow, as it is when ``onstart`` runs, to its logger."""
    jobs = [_job(job) for job in workflow.dag.needrun_jobs() if job.rule.name not in NO_WORK]
    resources = workflow.resource_settings
    forecast = Forecast(jobs, (resources.cores if workflow.local_exec else resources.nodes) or 1)
    if len(forecast.jobs) > 1:
        logger.info(forecast.line())
        logger.addHandler(Line(forecast, logger.info))


def _job(job) -> Job:
    """What is expected of a job of Snakemake's."""
    settings = job.params.get("settings") if job.rule.name.startswith("train") else None
    if settings is None:
        return Job(job.jobid, job.rule.name, START)
    if isinstance(settings, list):  # several runs of one curve, whose settings come first
        run = Run.from_json(settings[0])
        return Job(job.jobid, ("train", str(run.name.curve)), START + len(job.output) * training_seconds(run))
    run = Run.from_json(settings)
    kind = (job.rule.name, *(value for name, value in sorted(job.wildcards_dict.items()) if name != "seed"))
    return Job(job.jobid, kind, START + training_seconds(run))


def training_seconds(run: Run) -> float:
    """What a run takes on one core of a usual machine, give or take a factor of two.

    By the parts that docs/performance.md lists: neurons and points of all particles, tasks, assignments.
    """
    problem, settings, M, N = problems.find(run.problem), run.settings, run.name.M, run.name.N
    points = problem.data_size(settings)
    batch = min(settings.get("batch_size", points), points)
    tasks = settings.get("tasks", 1)
    if problem.features > 1:
        risks = 1e-11 * N * M * batch * problem.features * (2 if run.method == "hybrid" else 1)
    else:
        risks = N * (2e-8 * M + 1.5e-9 * batch) * (tasks if run.method == "separate_cbo" else 1)
    matching = 1e-8 * N * M**2 if "barycentre_rounds" in settings else 0.0
    each = 2e-4 + risks + 2e-8 * N * tasks + matching
    return settings["epochs"] * math.ceil(points / batch) * each
