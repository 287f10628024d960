# SPDX-License-Identifier: BSL-1.0
"""Measures the examples of an Asio source tree: each program is run over Asio and over the facade, and compared."""
import re
import tomllib
from pathlib import Path

from . import libraries, stage

YEARS = ("cpp11", "cpp14", "cpp17", "cpp20")
FOLDERS = ("src/examples", "share/doc/libasio-doc/examples", "share/doc/libasio-dev/examples")
MAIN = re.compile(r"^\s*(?:int\s+)?main\s*\(", re.MULTILINE)
TABLE = Path(__file__).resolve().parent / "scenes.toml"
SOURCES = (".cpp", ".hpp", ".am", ".o")


class Example:
    """A program: the source with main() and the others of its folder."""

    def __init__(self, folder, main, others):
        self.name = str(main.relative_to(folder).with_suffix(""))
        self.sources = [main, *others]
        self.files = tuple(p for p in sorted(main.parent.iterdir()) if p.is_file() and p.suffix not in SOURCES)


class Scenes:
    """The table of scenes, and of the programs that have none."""

    def __init__(self, path=None):
        path = path or TABLE
        table = tomllib.loads(path.read_text())
        self.left_out = table.get("left_out", {})
        self.units_left_out = table.get("units_left_out", {})
        self.not_run = table.get("not_run", {})
        self.why = table.get("why", {})
        self.asio_with = table.get("asio_with", {})
        self.of = {}  # name -> the entry
        for entry in table.get("scene", []):
            for name in entry["programs"]:
                if name in self.of:
                    raise ValueError(f"{path}: {name} has two scenes")
                self.of[name] = entry

    def reason_to_leave_out(self, name):
        """Returns why an example does not apply, or None."""
        return next((why for part, why in self.left_out.items() if part in name), None)

    def asio_for(self, name, asio):
        """Returns `asio` with the macros and libraries that an example needs."""
        needs = next((needs for part, needs in self.asio_with.items() if part in name), [])
        links = tuple(need for need in needs if need.startswith("-l"))
        options = tuple(need for need in needs if need not in links)
        return asio._replace(options=asio.options + options, links=asio.links + links)


def find(folder, only):
    """Returns the folder of the examples, and its sources and programs whose name contains `only`."""
    root = next((folder / name for name in FOLDERS if (folder / name).is_dir()), None)
    if root is None:
        raise FileNotFoundError(f"{folder} has no examples: none of {', '.join(FOLDERS)}")
    sources = sorted(p for year in YEARS for p in (root / year).rglob("*.cpp"))
    mains = {p for p in sources if MAIN.search(p.read_text(errors="replace"))}
    programs = [Example(root, p, [q for q in sources if q.parent == p.parent and q not in mains])
                for p in sources if p in mains]
    return root, sources, [program for program in programs if only in program.name]


class Measurement:
    """Builds the examples with both libraries, and performs their scenes."""

    def __init__(self, objects, asio, facade, scenes):
        self.objects, self.scenes = objects, scenes
        self.libraries = {"Asio": asio, "facade": facade}
        self.built = {}  # (library, name) -> (program, error)

    def build(self, library, example):
        chosen = self.libraries[library]
        if library == "Asio":
            chosen = self.scenes.asio_for(example.name, chosen)
        self.built[library, example.name] = self.objects.build(example.sources, chosen)

    def judge(self, example):
        """Performs its scene. Returns backend -> None or the difference; or a sentence why it was not run."""
        entry = self.scenes.of.get(example.name)
        if entry is None:
            return self.scenes.not_run.get(example.name, "no scene is known")
        cast = {"it": example.name, **entry.get("cast", {})}
        for name in cast.values():
            for library in self.libraries:
                error = self.built.get((library, name), (None, "it was not built"))[1]
                if error is not None:
                    return f"{name} does not compile with {library}: {error}"
        play = stage.Play(entry["steps"], tuple(entry.get("masks", ())), entry.get("unordered", False),
                          entry.get("limit_s", stage.LIMIT_S), example.files,
                          entry.get("port"))
        expected, error = self._perform(play, cast, {actor: "Asio" for actor in cast}, "")
        if error is not None:
            return f"with Asio: {error}"
        return {backend: self._differs(play, cast, expected, backend) for backend in libraries.BACKENDS}

    def _differs(self, play, cast, expected, backend):
        """Compares a backend with Asio: over the facade alone, and, where it is a pair, with Asio at either end."""
        mixtures = [{actor: "facade" for actor in cast}]
        if len(cast) > 1:
            mixtures += [{actor: "facade" if (actor == "it") == first else "Asio" for actor in cast}
                         for first in (True, False)]
        for mixture in mixtures:
            different = stage.difference(expected, *self._perform(play, cast, mixture, backend))
            if different is not None:
                mixed = "Asio" in mixture.values()
                return f"{different} ({', '.join(f'{a}: {lib}' for a, lib in mixture.items())})" if mixed else different
        return None

    def _perform(self, play, cast, mixture, backend):
        return stage.perform(play, {a: self.built[mixture[a], name][0] for a, name in cast.items()}, backend)
