"""A pytest plugin that counts what the tests of faults did and writes the table of docs/reliability.md.

    python -m pytest -p tests.reliability --reliability docs/reliability.md tests/faults

A test records ``fault`` as (what was done, how often, how often it was survived, whether the bytes were equal;
None where there are no bytes to compare) and ``refused`` as the kind of bad input that was answered in one line.
"""

from collections import Counter
from pathlib import Path

BEGIN, END = "<!-- made by `make faults`: begin -->", "<!-- end -->"


class Reliability:
    def __init__(self, path: Path):
        self.path = path
        self.done, self.survived, self.equal, self.compared = Counter(), Counter(), Counter(), Counter()
        self.tried, self.refused, self.skipped = Counter(), Counter(), []

    def pytest_runtest_logreport(self, report) -> None:
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.skipped.append(f"{report.nodeid.split('::')[-1]}: {reason.removeprefix('Skipped: ')}")
        if report.when != "call":
            return
        for name, value in report.user_properties:
            if name == "fault":
                what, done, survived, equal = value
                self.done[what] += done
                self.survived[what] += survived if report.passed else 0
                self.compared[what] += done if equal is not None else 0
                self.equal[what] += done if equal and report.passed else 0
            elif name == "refused":
                self.tried[value] += 1
                self.refused[value] += report.passed

    def pytest_sessionfinish(self, session, exitstatus) -> None:
        before, _, rest = self.path.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        self.path.write_text(f"{before}{BEGIN}\n{self.table()}{END}{after}", encoding="utf-8")

    def table(self) -> str:
        lines = ["| fault | injected | survived | bytes equal |", "|---|---:|---:|---:|"]
        for what in sorted(self.done):
            equal = f"{self.equal[what]} of {self.compared[what]}" if self.compared[what] else "–"
            lines.append(f"| {what} | {self.done[what]} | {self.survived[what]} | {equal} |")
        total = [sum(c.values()) for c in (self.done, self.survived, self.equal, self.compared)]
        lines.append(f"| **all** | **{total[0]}** | **{total[1]}** | **{total[2]} of {total[3]}** |")
        lines += ["", "| bad input | tried | refused in one clear line |", "|---|---:|---:|"]
        lines += [f"| {what} | {self.tried[what]} | {self.refused[what]} |" for what in sorted(self.tried)]
        lines.append(f"| **all** | **{sum(self.tried.values())}** | **{sum(self.refused.values())}** |")
        lines += ["", *(f"Not done where this table was made: {reason}" for reason in sorted(self.skipped))]
        return "\n".join(lines).rstrip() + "\n"


def pytest_addoption(parser) -> None:
    parser.addoption("--reliability", metavar="FILE", help="write the table of faults between the marks in FILE")


def pytest_configure(config) -> None:
    path = config.getoption("--reliability")
    if path and not hasattr(config, "workerinput"):  # of several processes the first one hears of all tests
        config.pluginmanager.register(Reliability(Path(path)), "reliability-table")
