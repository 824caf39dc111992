#!/usr/bin/env bash
# `longharness evaluate` as a Slurm job: a Ray cluster over the nodes of the allocation, and the run on it.
#
#   sbatch jobs/slurm.sh backbone=qwen serving=vllm_8gpu benchmark=ledgerqa run=main
#   sbatch --nodes=2 jobs/slurm.sh backbone=qwen serving=vllm serving.gpus=16 benchmark=ledgerqa run=main
#   sbatch --gpus-per-node=1 --cpus-per-task=8 --mem=120G jobs/slurm.sh backbone=qwen_1gpu serving=vllm_1gpu …
#
# Options of sbatch win over those below; partition, account and time are yours to give. Submit it from the
# repository, on a file system that all nodes see, where `bash jobs/setup.sh` and .venv-vllm were made; or name
# the environments in LONGHARNESS_VENV and LONGHARNESS_VLLM_VENV.
#
# Five minutes before its time is up the run stops, and the job is queued again; so it is by Slurm when a node
# fails or other jobs take its place. It then goes on where it was: give run=NAME, or leave the overrides alone.
# Two keys are made for each start and stored nowhere: Ray's token, and the one that vLLM asks for.
#SBATCH --job-name=longharness
#SBATCH --output=longharness-%j.log
#SBATCH --open-mode=append
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --gpus-per-node=8
#SBATCH --mem=0
#SBATCH --requeue
#SBATCH --signal=B:USR1@300
set -euo pipefail

fail() {
    printf 'slurm: %s\n' "$*" >&2
    exit 2
}

[[ -n ${SLURM_JOB_ID:-} ]] || fail "this is no Slurm job: submit it with sbatch"
(($#)) || fail "say what to run: sbatch jobs/slurm.sh backbone=qwen serving=vllm_8gpu benchmark=…"
cd "${SLURM_SUBMIT_DIR:-.}"
bin=${LONGHARNESS_VENV:-$PWD/.venv}/bin
[[ -x $bin/longharness ]] || fail "there is no $bin/longharness: run jobs/setup.sh here, or set LONGHARNESS_VENV"

secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
port=$((20000 + SLURM_JOB_ID % 10000)) # of its own: another job may have a Ray on this node
export LONGHARNESS_VLLM_VENV=${LONGHARNESS_VLLM_VENV:-$PWD/.venv-vllm}
export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=token RAY_AUTH_TOKEN RAY_ADDRESS=${nodes[0]}:$port
RAY_AUTH_TOKEN=$(secret)

# Servers that the run starts on several nodes can be reached from others: they ask for a key.
key=()
for argument in "$@"; do
    case $argument in
    serving=vllm* | serving=ray_serve | serving=auto)
        export VLLM_API_KEY
        VLLM_API_KEY=$(secret)
        key=(serving.api_key_env=VLLM_API_KEY)
        ;;
    esac
done

# Runs on every node, by srun: `exec`, so that what ends the step ends Ray.
# shellcheck disable=SC2329
ray_node() {
    exec "$@" --block --num-cpus="$SLURM_CPUS_ON_NODE" --num-gpus="${SLURM_GPUS_ON_NODE:-0}" \
        --temp-dir="/tmp/longharness-$SLURM_JOB_ID"
}

steps=()
step() { # NODES COUNT COMMAND…: Ray on these nodes, beside the job's other steps
    local where=$1 count=$2
    shift 2
    srun --overlap --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --nodelist="$where" \
        --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" \
        bash -c "$(declare -f ray_node); ray_node \"\$@\"" ray_node "$@" &
    steps+=($!)
}

# Wait until so many nodes have joined; end at once if one of the steps does.
await_nodes() {
    local deadline=$((SECONDS + 300))
    until joined "$1" >/dev/null 2>&1; do
        ((SECONDS < deadline)) || fail "Ray did not start on $1 nodes in five minutes: /tmp/longharness-$SLURM_JOB_ID"
        for one in "${steps[@]}"; do
            kill -0 "$one" 2>/dev/null || fail "Ray ended as it was started: its messages stand above"
        done
        sleep 1
    done
}

joined() {
    "$bin/python" - "$1" <<'PY'
import sys

import ray

ray.init(log_to_driver=False)  # where RAY_ADDRESS says
sys.exit(sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[1]))
PY
}

driver=
end() {
    trap '' USR1 TERM
    if [[ -n $driver ]]; then # before the cluster: it writes what is finished
        kill -TERM "$driver" 2>/dev/null || true
        wait "$driver" || true
    fi
    ((${#steps[@]} == 0)) || kill -TERM "${steps[@]}" 2>/dev/null || true
    steps=() driver=
    wait
}
trap end EXIT
trap 'exit 143' TERM

ray=("$bin/python" -m ray.scripts.scripts start)
step "${nodes[0]}" 1 "${ray[@]}" --head --port="$port" --ray-client-server-port=$((port + 10000)) \
    --include-dashboard=false
await_nodes 1
if ((${#nodes[@]} > 1)); then
    others=("${nodes[@]:1}")
    step "$(IFS=,; printf '%s' "${others[*]}")" "${#others[@]}" "${ray[@]}" --address="$RAY_ADDRESS"
    await_nodes "${#nodes[@]}"
fi

"$bin/longharness" evaluate cluster=existing "${key[@]}" "$@" &
driver=$!
again=false
trap 'again=true; kill -TERM "$driver"' USR1
while :; do # a signal ends `wait` before the driver has ended
    status=0
    wait "$driver" || status=$?
    kill -0 "$driver" 2>/dev/null || break
done
driver=
if $again && ((status != 0)); then
    end
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
