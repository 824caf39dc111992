#!/usr/bin/env bash
# The main job on this machine: set up, then the quick start. Further overrides are passed on:
#   jobs/local.sh seeds=2 benchmark.questions_per_kind=3
# Its figures show that everything is wired; the reference policy is no language model.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash jobs/setup.sh
exec "${LONGHARNESS_VENV:-.venv}/bin/longharness" evaluate experiment=quickstart "$@"
