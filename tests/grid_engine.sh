#!/usr/bin/env bash
# A throwaway Grid Engine of one host on this machine, from Debian's packages, for the tests. Needs root.
#
#   tests/grid_engine.sh start [SLOTS]    start sge_qmaster and sge_execd with the queue all.q of SLOTS (2) slots
#   export SGE_ROOT=/var/lib/gridengine   let qsub, qstat and the others talk to it
#   tests/grid_engine.sh stop             delete its jobs and stop the two daemons
#   tests/grid_engine.sh install          the packages, as Debian configures them
#
# Debian's packages have one place for their cell, so there is one Grid Engine per machine: a running one is left alone.
# Facts that cost time: all names of the host must mean the same (host_aliases); root's jobs are refused until min_uid
# and min_gid are 0, which sge_execd reads only when it starts; the master takes seconds to end.
set -euo pipefail
export SGE_ROOT=/var/lib/gridengine SGE_CELL=default SGE_SINGLE_LINE=1
cell=$SGE_ROOT/$SGE_CELL
pids=$SGE_ROOT/throwaway.pids # of the daemons that `start` started

usage() { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }

until_true() { # COMMAND...: try for half a minute
    for _ in $(seq 120); do "$@" >/dev/null 2>&1 && return; sleep 0.25; done
    echo "not so after 30 seconds: $*" >&2
    return 1
}

running() { pgrep -x sge_qmaster >/dev/null || pgrep -x sge_execd >/dev/null; }
nothing_runs() { ! running; }
queue_is_up() { qstat -f | awk '$1 == "all.q@localhost" && NF == 5 { up = 1 } END { exit !up }'; }
administer() { su -s /bin/sh sgeadmin -c "SGE_ROOT=$SGE_ROOT SGE_CELL=$SGE_CELL $*"; }

install() {
    printf '%s\n' "gridengine-common shared/gridenginemaster string $(hostname)" \
        "gridengine-common shared/gridenginecell string default" \
        "gridengine-common shared/gridengineconfig boolean true" \
        "postfix postfix/main_mailer_type select No configuration" | debconf-set-selections
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        gridengine-master gridengine-exec gridengine-client >/dev/null
}

start() {
    local slots=$1 work
    for tool in qsub qconf sge_qmaster sge_execd; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed (tests/grid_engine.sh install)" >&2; exit 3; }
    done
    running && { echo "a Grid Engine runs on this machine already" >&2; exit 4; }
    work=$(mktemp -d)
    trap 'rm -rf "$work"' RETURN
    echo "localhost $(hostname)" >"$cell/common/host_aliases"
    echo localhost >"$cell/common/act_qmaster"
    sge_qmaster
    until_true qconf -sh
    administer qconf -am root >/dev/null 2>&1 || true # says so if root is a manager already
    qconf -as localhost >/dev/null 2>&1 || true
    # What ends and what is submitted is seen within a second, and accounted for at once. qconf goes by the file's name.
    qconf -sconf global | sed -e '/^#/d' -e 's/^\(min_[ug]id\) .*/\1 0/' \
        -e '/^reporting_params/s/\(accounting_flush_time\|flush_time\)=[0-9:]*/\1=00:00:00/g' >"$work/global"
    qconf -Mconf "$work/global" >/dev/null
    qconf -ssconf | sed -e 's/^schedule_interval .*/schedule_interval 0:0:1/' \
        -e 's/^\(flush_\(submit\|finish\)_sec\) .*/\1 1/' >"$work/sched"
    qconf -Msconf "$work/sched" >/dev/null
    qconf -dq all.q >/dev/null 2>&1 || true
    qconf -sq | sed -e 's/^qname .*/qname all.q/' -e 's/^hostlist .*/hostlist localhost/' -e "s/^slots .*/slots $slots/" \
        -e 's/^rerun .*/rerun TRUE/' -e 's/^pe_list .*/pe_list NONE/' -e 's/^load_thresholds .*/load_thresholds NONE/' >"$work/queue"
    qconf -Aq "$work/queue" >/dev/null
    sge_execd
    until_true queue_is_up
    pgrep -x 'sge_(qmaster|execd)' >"$pids"
    qstat -f
}

stop() {
    qdel -u '*' >/dev/null 2>&1 || true
    for pid in $(cat "$pids" 2>/dev/null); do
        case "$(ps -o comm= -p "$pid")" in sge_qmaster | sge_execd) kill "$pid" ;; esac
    done
    until_true nothing_runs
    rm -f "$pids"
}

case "${1:-}" in
start) start "${2:-2}" ;;
stop) stop ;;
install) install ;;
*) usage ;;
esac
