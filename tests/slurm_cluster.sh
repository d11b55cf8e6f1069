#!/usr/bin/env bash
# A throwaway Slurm cluster on this machine, from Debian's packages (slurm-wlm, munge), for the tests.
#
#   tests/slurm_cluster.sh start DIR [NODES]    start munged, slurmctld and NODES slurmd (2); needs root
#   . DIR/env.sh                                let sbatch, squeue and the others talk to it
#   tests/slurm_cluster.sh stop DIR             stop these daemons and no others
#
# It has its own key, sockets, ports and folders, all under DIR, so it disturbs no other Slurm on the machine.
# There is no accounting database: Snakemake must ask squeue for the state of jobs.
# cred_expire: after a node has died, Slurm waits so long (120 seconds by default) before it starts a job again.
set -euo pipefail

usage() { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }

free_ports() { # COUNT: that many ports that nobody listens on
    python3 - "$1" <<'PYTHON'
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))
PYTHON
}

start() {
    local dir=$1 nodes=$2 host key ports i
    for tool in munged slurmctld slurmd sinfo; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed (apt-get install slurm-wlm munge)" >&2; exit 3; }
    done
    host=$(hostname -s)
    mkdir -p "$dir/munge" "$dir/state" "$dir/log" "$dir/bin"
    chmod 755 "$dir" && chmod 700 "$dir/munge"
    dir=$(cd "$dir" && pwd)
    key=$dir/munge/munge.key
    (umask 077 && head -c 1024 /dev/urandom >"$key") && chmod 400 "$key"
    munged --force --key-file="$key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
        --log-file="$dir/log/munged.log" --seed-file="$dir/munge/munged.seed"

    read -r -a ports <<<"$(free_ports $((nodes + 1)))"
    cat >"$dir/slurm.conf" <<CONF
ClusterName=throwaway
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
InactiveLimit=0
KillWait=5
MinJobAge=600
JobRequeue=1
CONF
    for ((i = 1; i <= nodes; i++)); do
        mkdir -p "$dir/spool.node$i"
        echo "NodeName=node$i NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[$i]} CPUs=2 RealMemory=4000" >>"$dir/slurm.conf"
    done
    echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP" >>"$dir/slurm.conf"

    # Snakemake's job steps call srun without SLURM_CONF: a wrapper tells it again.
    printf '#!/bin/sh\nSLURM_CONF=%q exec %q "$@"\n' "$dir/slurm.conf" "$(command -v srun)" >"$dir/bin/srun"
    chmod +x "$dir/bin/srun"
    printf 'export SLURM_CONF=%q PATH=%q:"$PATH"\n' "$dir/slurm.conf" "$dir/bin" >"$dir/env.sh"

    export SLURM_CONF=$dir/slurm.conf
    slurmctld -c
    for ((i = 1; i <= nodes; i++)); do slurmd -N "node$i"; done
    for ((i = 0; i < 120; i++)); do
        if [ "$(sinfo -h -N -o %T 2>/dev/null | grep -c '^idle$')" = "$nodes" ]; then
            sinfo -N
            return
        fi
        sleep 0.25
    done
    sinfo -N -l >&2 || true
    tail -n 5 "$dir"/log/* >&2
    stop "$dir"
    exit 1
}

stop() {
    local dir=$1 file pid
    for file in "$dir"/slurmd.*.pid "$dir"/slurmctld.pid "$dir"/munged.pid; do
        [ -f "$file" ] || continue
        pid=$(cat "$file")
        case "$(ps -o comm= -p "$pid")" in munged|slurmctld|slurmd) kill "$pid" ;; *) continue ;; esac
        for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        kill -9 "$pid" 2>/dev/null || true
    done
}

case "${1:-}" in
start) start "${2:?$(usage)}" "${3:-2}" ;;
stop) stop "${2:?$(usage)}" ;;
*) usage ;;
esac
