#!/bin/sh
# status.sh JOB: prints running, success or failed, as Snakemake's cluster-generic executor expects.
#
# A job that qstat lists counts as running, whether it waits or works. One in an error state (Eqw) would wait for ever,
# so it is deleted and counts as failed. A job that qstat no longer lists has ended, and some seconds later qacct says
# how. If neither knows a job for WAIT seconds, Grid Engine has lost it, and it counts as failed. If Grid Engine does
# not answer at all, nothing is known, and the job still counts as running.
WAIT=${CBO_GRID_ENGINE_WAIT:-120}
job=$1

listed=$(qstat -u '*' 2>/dev/null) || { echo running; exit; }
state=$(printf '%s\n' "$listed" | awk -v job="$job" '$1 == job { print $5; exit }')
case $state in
'') ;;
*E*) qdel "$job" >/dev/null 2>&1; echo failed; exit ;;
*) echo running; exit ;;
esac

# A job that was restarted has several entries, and job numbers are used again after years: the last entry counts.
ended=$(qacct -j "$job" 2>/dev/null | awk '$1 == "failed" { failed = $2 } $1 == "exit_status" { code = $2; known = 1 }
    END { if (known) print (failed == 0 && code == 0) ? "success" : "failed" }')
if [ -n "$ended" ]; then echo "$ended"; exit; fi

gone=.snakemake/grid_engine/gone.$job
[ -e "$gone" ] || { mkdir -p .snakemake/grid_engine && : >"$gone"; }
age=$(($(date +%s) - $(date -r "$gone" +%s)))
if [ "$age" -lt "$WAIT" ]; then echo running; else rm -f "$gone"; echo failed; fi
