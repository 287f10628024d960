# SPDX-License-Identifier: BSL-1.0
"""The foreign programs' tools in a folder of their own: a virtual environment of Python, packages of Node, programs of
Go, each made once, from pinned versions."""
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
NODE_MIN = 20
SETUP_LIMIT_S = 300


class Missing(Exception):
    """A tool that this machine lacks, or a registry that it does not reach."""


class Tools:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.environment = os.environ | {"GOFLAGS": "-mod=mod", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        self.refused = {}  # the reason why a tool cannot be had, by its name

    def once(self, name, make):
        """Calls `make` if the tool is not there yet. Raises Missing, also for those that failed before."""
        if name in self.refused:
            raise Missing(self.refused[name])
        try:
            make()
        except Missing as why:
            self.refused[name] = str(why)
            raise

    def run(self, what, command, **how):
        done = subprocess.run(command, capture_output=True, text=True, timeout=SETUP_LIMIT_S, env=self.environment,
                              stdin=subprocess.DEVNULL, **how)
        if done.returncode != 0:
            raise Missing(f"{what}: {(done.stderr or done.stdout).strip()[-300:]}")

    def copied(self, name, place):
        """Copies a pinned list there. Returns whether it has changed."""
        text = (HERE / name).read_bytes()
        target = place / name
        if target.exists() and target.read_bytes() == text:
            return False
        place.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
        return True

    def python(self, words):
        """Returns the command that runs a script with the pinned packages."""
        place = self.folder / "python"
        program = place / "bin/python"

        def make():
            ready = place / "ready"
            wanted = (HERE / "requirements.txt").read_text()
            if ready.exists() and ready.read_text() == wanted:
                return
            self.run("python3 -m venv", ["python3", "-m", "venv", "--clear", str(place)])
            self.run("pip", [str(program), "-m", "pip", "install", "-q", "-r", str(HERE / "requirements.txt")])
            ready.write_text(wanted)

        self.once("python", make)
        return [program, *words]

    def node(self, script):
        """Returns the command that runs a script with the pinned packages: a copy of it beside node_modules."""
        place = self.folder / "node"

        def make():
            node = shutil.which("node")
            if not node or not shutil.which("npm"):
                raise Missing("node or npm is not installed")
            version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
            if int(version.lstrip("v").partition(".")[0]) < NODE_MIN:
                raise Missing(f"node {version.strip()} is older than {NODE_MIN}")
            if self.copied("package.json", place) or not (place / "node_modules").is_dir():
                self.run("npm", ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=place)

        self.once("node", make)
        shutil.copy(HERE / script, place)
        return ["node", place / script]

    def go(self, name):
        """Builds a program of Go. Returns its path."""
        place = self.folder / "go"

        def make():
            go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
            if not go:
                raise Missing("go is not installed")
            for file in ("go.mod", "go.sum"):
                shutil.copy(HERE / file, place.mkdir(parents=True, exist_ok=True) or place)
            shutil.copytree(HERE / name, place / name, dirs_exist_ok=True)
            self.run("go build", [go, "build", "-o", str(place / "bin" / name), f"./{name}"], cwd=place)

        self.once(f"go {name}", make)
        return place / "bin" / name
