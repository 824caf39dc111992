"""The Serve configurations of `conf/ray_serve`, built by Ray Serve itself; not run: that takes GPUs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.backbone.vllm_cpu.server import python
from tests.conftest import ROOT

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

CONFIGS = sorted((ROOT / "conf/ray_serve").glob("*.yaml"))
BUILD = """
import json, sys, yaml
from ray._common.utils import import_attr
from ray.serve.schema import ServeDeploySchema

found = {}
for file in sys.argv[1:]:
    config = ServeDeploySchema.model_validate(yaml.safe_load(open(file)))
    for app in config.applications:
        deployment = import_attr(app.import_path)(app.args)._bound_deployment
        found[app.name] = [deployment.num_replicas, deployment._replica_config.placement_group_bundles]
print(json.dumps(found))
"""


def test_ray_serve_builds_each_application_as_it_is_configured(tmp_path: Path) -> None:
    assert CONFIGS
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [str(python()), "-c", BUILD, *map(str, CONFIGS)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    wanted = {}
    for path in CONFIGS:
        for app in yaml.safe_load(path.read_text(encoding="utf-8"))["applications"]:
            wanted[app["name"]] = [1, app["args"]["placement_group_config"]["bundles"]]
    assert json.loads(done.stdout.splitlines()[-1]) == wanted
