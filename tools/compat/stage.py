# SPDX-License-Identifier: BSL-1.0
"""Runs scenes (scene.py) with programs of either library, and compares what was said."""
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

SCENE = Path(__file__).resolve().parent / "scene.py"
PRIVATE = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
LIMIT_S = 20
SHOWN = 160


class Play(NamedTuple):
    """A scene's text, and how what it says is compared."""

    steps: str
    masks: tuple = ()  # patterns whose matches may differ
    unordered: bool = False  # lines of the output come in any order
    limit_s: float = LIMIT_S
    files: tuple = ()  # copied into its folder
    port: int | None = None  # else a free one


@cache
def can_be_private():
    """Whether this machine lets us make a network and a PID namespace for each scene."""
    try:
        return subprocess.run([*PRIVATE, "ip", "link"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def perform(play, programs, backend):
    """Performs a scene. Returns (what was said, None), or (what was said, the step that failed)."""
    private = can_be_private()
    job = {"steps": play.steps, "programs": {name: str(path) for name, path in programs.items()},
           "files": [str(path) for path in play.files], "limit_s": play.limit_s, "port": play.port,
           "private": private}
    environment = {**os.environ, "BECK_BACKEND": backend, "LC_ALL": "C"}
    command = [*(PRIVATE if private else ()), sys.executable, str(SCENE)]
    try:
        done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, env=environment,
                              timeout=2 * play.limit_s + 30, check=False)
    except subprocess.TimeoutExpired:
        return [], "the scene has not ended"
    if done.returncode != 0:
        return [], f"the scene ended with status {done.returncode}: {done.stderr[-SHOWN:]}"
    answer = json.loads(done.stdout)
    return [(name, masked(text, play)) for name, text in answer["said"]], answer["error"]


def masked(text, play):
    for pattern in play.masks:
        text = re.sub(pattern, "*", text)
    return "\n".join(sorted(text.split("\n"))) if play.unordered else text


def difference(expected, said, error):
    """Returns the first difference from what was expected, or None."""
    for wanted, found in zip(expected, said):
        if wanted != found:
            return f"{found[0]} says {short(found[1])}, with Asio {short(wanted[1])}"
    if error is not None:
        return short(error, quoted=False)
    return None if len(expected) == len(said) else "it says more or less than with Asio"


def short(text, quoted=True):
    text = text if len(text) <= SHOWN else text[:SHOWN // 2] + " ... " + text[-SHOWN // 2:]
    return repr(text) if quoted else text
