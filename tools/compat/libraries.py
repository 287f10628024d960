# SPDX-License-Identifier: BSL-1.0
"""The two libraries that a program is compiled with, Asio and the facade, and what the compiler does for them."""
import itertools
import re
import shlex
import subprocess
from typing import NamedTuple

BACKENDS = ("epoll", "io_uring")
COMPILER_LIMIT_S = 300
USES_TLS = re.compile(r'#\s*include\s*[<"](boost/)?asio/ssl')


class Library(NamedTuple):
    """How a program finds a library."""

    name: str
    includes: tuple
    links: tuple
    prelude: tuple = ()  # headers that come before each source
    options: tuple = ()  # of the compiler

    @staticmethod
    def asio(folder):
        return Library("Asio", (folder / "include",), ())

    @staticmethod
    def facade(root, build):
        includes = (root / "include", root / "asio/include", build / "asio/beck-asio")
        return Library("the facade", includes, (build / "src/libbeck.a",))


class Compiler:
    """Compiles, links, and keeps the first error of each source."""

    def __init__(self, command, standard="c++20"):
        self.command = shlex.split(command)
        self.standard = standard

    def preprocess(self, source, library):
        """Returns the preprocessed text of a source, or None."""
        done = self._run([*self._options(library), "-E", "-P", str(source)])
        return done.stdout if done is not None and done.returncode == 0 else None

    def compile(self, source, library, target):
        """Makes an object file. Returns None, or the first error."""
        command = [*self._options(library), "-O0", "-c", str(source), "-o", str(target)]
        return first_error(self._run(command), r"error: (.*)")

    def link(self, objects, library, target, tls):
        """Makes a program. Returns None, or the first error."""
        command = [*self.command, *map(str, objects), *map(str, library.links), "-pthread"]
        command += ["-lssl", "-lcrypto"] if tls else []
        done = self._run([*command, "-o", str(target)])
        return first_error(done, r"(undefined reference to .*|multiple definition of .*|error: .*)")

    def _options(self, library):
        return [*self.command, f"-std={self.standard}", "-w", "-fmax-errors=1" if "g++" in self.command[-1] and
                "clang" not in self.command[-1] else "-ferror-limit=1", *(f"-I{folder}" for folder in library.includes),
                *library.options, *(part for header in library.prelude for part in ("-include", str(header)))]

    @staticmethod
    def _run(command):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=COMPILER_LIMIT_S, check=False,
                                  errors="replace")
        except subprocess.TimeoutExpired:
            return None


def first_error(done, pattern):
    """Returns the first error in a compiler's output, or None if it succeeded. `done` is None if it did not end."""
    if done is None:
        return f"the compiler has not ended within {COMPILER_LIMIT_S} s"
    if done.returncode == 0:
        return None
    match = re.search(pattern, done.stderr)
    return match.group(1) if match else f"the compiler ended with status {done.returncode}"


class Objects:
    """The object files and programs of a run, in one folder. Thread: any."""

    def __init__(self, compiler, folder):
        self.compiler, self.folder = compiler, folder
        self.numbers = itertools.count()
        self.made = {}  # (source, library) -> (object file, error)

    def get(self, source, library):
        """Compiles a source, once. Returns (object file, None), or (None, the first error)."""
        if (source, library) not in self.made:
            target = self.folder / f"{next(self.numbers)}.o"
            error = self.compiler.compile(source, library, target)
            self.made[source, library] = (target, None) if error is None else (None, error)
        return self.made[source, library]

    def build(self, sources, library):
        """Compiles sources and links them. Returns (program, None), or (None, a sentence with the first error)."""
        objects = []
        for source in sources:
            target, error = self.get(source, library)
            if error is not None:
                return None, error
            objects.append(target)
        tls = any(USES_TLS.search(source.read_text(errors="replace")) for source in sources)
        program = self.folder / f"{next(self.numbers)}.program"
        error = self.compiler.link(objects, library, program, tls)
        return (program, None) if error is None else (None, f"link: {error}")

    def forget(self, source, library):
        """Removes the object file of a source."""
        target, _ = self.made.pop((source, library))
        if target is not None:
            target.unlink()
