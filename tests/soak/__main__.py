"""``python -m soak``: the campaign on Slurm and on this machine, and its table."""

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path

from soak import campaign, table, workload
from soak.place import Machine, Slurm
from throwaway_slurm import missing


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="at least that many (default 1000)")
    parser.add_argument("--faults", type=int, default=200, help="on Slurm (default 200)")
    parser.add_argument("--local-runs", type=int, default=200, help="on one machine (default 200)")
    parser.add_argument("--local-faults", type=int, default=60, help="on one machine (default 60)")
    parser.add_argument("--runs-per-job", type=int, default=21, help="on Slurm, runs that share a job (default 21)")
    parser.add_argument("--widths", type=int, default=3, help="on Slurm, curves of each variant (default 3)")
    parser.add_argument("--seed", type=int, help="of the monkey (default: drawn, and told)")
    parser.add_argument("--nodes", type=int, default=2, help="nodes of the throwaway Slurm (default 2)")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table between its marks in FILE")
    parser.add_argument("--only", choices=["slurm", "machine"], help="one of the two")
    options = parser.parse_args()
    if missing():
        print(f"soak: {missing()}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that nothing is left mounted
    seed = random.randrange(10**6) if options.seed is None else options.seed
    folder = options.folder or Path(tempfile.mkdtemp(prefix="soak."))
    print(f"seed {seed}, in {folder}, at {campaign.commit()}", flush=True)
    outcomes = []
    for name in ("slurm", "machine"):
        if options.only not in (None, name):
            continue
        here = folder / name
        here.mkdir(parents=True)
        slurm = name == "slurm"
        wanted, faults = (options.runs, options.faults) if slurm else (options.local_runs, options.local_faults)
        shares = (options.runs_per_job, options.widths) if slurm else ()
        work = workload.make(here, wanted, *shares)
        quiet = campaign.quiet_run(work, here / "quiet")
        print(f"{name}: {work.runs} runs, quiet: {quiet.core_seconds:.0f} core seconds", flush=True)
        place = Slurm(here / "cluster", options.nodes) if slurm else Machine()
        outcomes.append(campaign.under_fire(work, place, quiet, here / "fire", seed, faults))
        print(table.table(outcomes[-1:]), *outcomes[-1].wrong, sep="\n", flush=True)
    if options.write:
        table.write(outcomes, options.write)
    return 1 if any(outcome.wrong for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
