"""The files for clusters: they parse, and what they call exists."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from torch.distributed.run import get_args_parser

from qgcn.tasks.config import settings_of

FOLDER = Path(__file__).parent.parent / "examples" / "cluster"
BASH = shutil.which("bash")
SBATCH, KUBERNETES = FOLDER / "train.sbatch", FOLDER / "train.yaml"


def script_of_pods():
    (job,) = (each for each in yaml.safe_load_all(KUBERNETES.read_text()) if each["kind"] == "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return container["args"][0]


@pytest.fixture(params=["sbatch", "pods"])
def script(request):
    return SBATCH.read_text() if request.param == "sbatch" else script_of_pods()


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_scripts_are_bash(script, tmp_path):
    path = tmp_path / "script"
    path.write_text(script)
    assert subprocess.run([BASH, "-n", path], check=False).returncode == 0
    path.write_text(script.replace("fi\n", "\n", 1))
    assert subprocess.run([BASH, "-n", path], capture_output=True, check=False).returncode != 0


def test_pods_find_each_other():
    service, job = yaml.safe_load_all(KUBERNETES.read_text())
    pod = job["spec"]["template"]["spec"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["metadata"]["name"] == pod["subdomain"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    assert job["spec"]["completionMode"] == "Indexed"
    assert f"--master-addr {job['metadata']['name']}-0.{pod['subdomain']} " in script_of_pods()
    assert f"--nnodes {job['spec']['completions']} " in script_of_pods()
    mounted = {each["name"] for each in pod["containers"][0]["volumeMounts"]}
    assert mounted == {each["name"] for each in pod["volumes"]}


def test_slurm_reads_its_options_before_the_first_command():
    lines = SBATCH.read_text().splitlines()
    options = [number for number, line in enumerate(lines) if line.startswith("#SBATCH --")]
    commands = [number for number, line in enumerate(lines) if line and not line.startswith("#")]
    assert lines[0] == "#!/bin/bash"
    assert max(options) < min(commands)
    assert "#SBATCH --ntasks-per-node=1" in lines  # torchrun starts the others


def test_torchrun_and_qgcn_know_every_flag(script):
    words = shlex.split(re.sub(r"\\\n", " ", script[script.index("torchrun ") :]))
    flags = [word for word in words[: words.index("-m")] if word.startswith("--")]
    known = {flag for action in get_args_parser()._actions for flag in action.option_strings}
    assert set(flags) <= known
    for kind, given in re.findall(r"COMMAND=\((train links|resume)([^)]*)\)", script):
        named = {flag.removeprefix("--").replace("-", "_") for flag in shlex.split(given) if flag.startswith("--")}
        assert named <= {"yes", "out", "devices", "nodes"} | (set(settings_of("links")) if kind == "train links" else set())
