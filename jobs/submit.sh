#!/usr/bin/env bash
# `longharness evaluate` as a job on a running Ray cluster.
#
#   RAY_API_SERVER_ADDRESS=http://HEAD:8265 RAY_AUTH_TOKEN_PATH=~/.ray/auth_token \
#       jobs/submit.sh root=/shared/outputs run=main benchmark=ledgerqa backbone=qwen serving=auto serving.gpus=8
#
# Only the package and its configurations are uploaded; documents, question files and folders given with
# --config-dir must lie where the cluster's nodes see them. The nodes have the packages of
# jobs/requirements.lock installed; head and GPU nodes have vLLM where their variable LONGHARNESS_VLLM_VENV says
# (cluster.yaml does both). API keys come from the nodes' own environment: a job's metadata is no place for a
# secret. The same command again resumes the run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${LONGHARNESS_VENV:-$root/.venv}/bin/python

fail() {
    printf 'submit: %s\n' "$*" >&2
    exit 2
}

[[ -n ${RAY_API_SERVER_ADDRESS:-} ]] ||
    fail "set RAY_API_SERVER_ADDRESS to the cluster's job server, e.g. http://HEAD:8265"
[[ -n ${RAY_AUTH_TOKEN:-} || -s ${RAY_AUTH_TOKEN_PATH:-$HOME/.ray/auth_token} ]] ||
    fail "no token: set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to the one that the cluster was started with"
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0

folder=
for argument in "$@"; do
    [[ $argument != root=* ]] || folder=${argument#root=}
done
[[ $folder == /* ]] ||
    fail "give root=/FOLDER that outlives the job and that all nodes see: relative ones lie in the job's copy"

upload=$(mktemp -d)
trap 'rm -rf "$upload"' EXIT
cp -r "$root/pipeline" "$root/conf" "$upload"
find "$upload" -name __pycache__ -prune -exec rm -rf {} +

"$python" -m ray.scripts.scripts job submit --working-dir "$upload" -- \
    python -m pipeline evaluate cluster=existing "$@"
