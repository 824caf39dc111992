#!/usr/bin/env bash
# Set up and test.
#   jobs/test.sh          the core: ruff, mypy, and every test that needs no further part
#   jobs/test.sh --all    also what needs vLLM and other heavy parts; then nothing may be skipped
# Further arguments go to pytest: jobs/test.sh -k corpus -x
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=false
if [[ ${1:-} == --all ]]; then
    all=true
    shift
fi

bash jobs/setup.sh
bin=${LONGHARNESS_VENV:-.venv}/bin
export RAY_USAGE_STATS_ENABLED=0

"$bin/ruff" check .
"$bin/mypy"

if $all; then
    bash jobs/vllm_cpu.sh
    # A part of the tests says nothing about the coverage of the whole. Counting it doubles the time of the harness's
    # own tests: the core is for every edit.
    coverage=()
    if (($# == 0)); then coverage=(--cov=pipeline.harness --cov-report=term:skip-covered --cov-fail-under=95); fi
    LONGHARNESS_REQUIRE_ALL=1 exec "$bin/python" -m pytest "${coverage[@]}" "$@"
fi
exec "$bin/python" -m pytest -m "not heavy" "$@"
