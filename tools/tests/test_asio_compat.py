# SPDX-License-Identifier: BSL-1.0
"""asio_compat.py tells programs that run alike from those that differ, and counts cases, on each backend."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import asio_compat
from compat import examples, scene, stage

# The library, whose facade differs on a backend, in a number, and lacks a name.
THEIRS = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
namespace asio {
inline const char* backend() { return "any"; }
inline int same() { return 1; }
inline int other() { return 2; }
inline int missing() { return 3; }
}
"""
OURS = THEIRS.replace('"any"', 'std::strcmp(std::getenv("BECK_BACKEND"), "epoll") == 0 ? "any" : "another"').replace(
    "return 2", "return 20").replace("inline int missing() { return 3; }", "")
HARNESS = """
#ifndef UNIT_TEST_HPP
#define UNIT_TEST_HPP
template <void (*T)()> void run_test(const char*) { T(); }
#define ASIO_CHECK(x) static_cast<void>(x)
#define ASIO_TEST_SUITE(name, tests) int main() { tests }
#define ASIO_TEST_CASE(a) run_test<&a>(#a);
inline void null_test() {}
#endif
"""
# A server whose reply has a letter of its library, and a client that prints it.
SERVER = """
#include <asio.hpp>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int, char** argv) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(static_cast<unsigned short>(std::atoi(argv[1])));
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 || listen(listener, 5) != 0) return 1;
  for (;;) {
    int peer = accept(listener, nullptr, nullptr);
    char text[32];
    const int size = std::snprintf(text, sizeof text, "%s\\n", asio::REPLY);
    if (write(peer, text, static_cast<unsigned>(size)) != size) return 2;
    close(peer);
  }
}
"""


def program(body):
    return f"#include <asio.hpp>\nint main(int argc, char** argv) {{ (void)argc; (void)argv; {body} }}\n"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("asio/include/asio.hpp", "#pragma once" + THEIRS)
        self.write("build/asio/beck-asio/asio.hpp", "#pragma once" + OURS)
        self.write("build/asio/beck-asio/asio/append.hpp",
                   "#define BECK_ASIO_BEGIN namespace asio {\n#define BECK_ASIO_END }\n"
                   "BECK_ASIO_BEGIN template <class... A> void append(A...); BECK_ASIO_END\n")
        self.write("build/src/libbeck.a", "!<arch>\n")

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_tool(self, *arguments):
        """Returns the tool's output and its JSON."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            asio_compat.main(["--asio", str(self.root / "asio"), "--build", str(self.root / "build"), "--show",
                              "--json", str(self.root / "out.json"), *map(str, arguments)])
        return out.getvalue(), json.loads((self.root / "out.json").read_text())


class Programs(Case):
    def judge(self, name, text, arguments=None, standard_input=None):
        self.write(f"programs/{name}.cpp", text)
        if arguments is not None:
            self.write(f"programs/{name}.args", arguments)
        if standard_input is not None:
            self.write(f"programs/{name}.in", standard_input)

    def test_alike_differing_and_not_compiled(self):
        self.judge("alike", program("std::puts(argv[1]); return std::getchar() + asio::same();"), "'two words'", "A")
        self.judge("output", program('std::printf("%d\\n", asio::other());'))
        self.judge("status", program("return asio::other();"))
        self.judge("backend", program("std::puts(asio::backend());"))
        self.judge("name", program("return asio::missing();"))
        self.judge("theirs", program("return asio::nobody_has_this();"))
        out, found = self.run_tool("--no-examples", "--programs", self.root / "programs")
        verdicts = found["programs"]
        self.assertEqual(verdicts["program alike"], {"epoll": None, "io_uring": None})
        self.assertEqual(verdicts["program output"]["epoll"], r"it says '20\n', with Asio '2\n'")
        self.assertEqual(verdicts["program status"]["io_uring"], "it's status says '20', with Asio '2'")
        self.assertIsNone(verdicts["program backend"]["epoll"])
        self.assertIn("another", verdicts["program backend"]["io_uring"])
        self.assertIn("missing", found["errors"]["program name"])
        self.assertIn("does not compile with Asio", verdicts["program theirs"])
        self.assertIn("programs: 6 programs, 4 run, ran alike: 2 on epoll, 1 on io_uring, 1 on both", out)

    def test_only_chooses(self):
        self.judge("alike", program("return 0;"))
        self.judge("other", program("return 0;"))
        out, _ = self.run_tool("--no-examples", "--programs", self.root / "programs", "--only", "ali")
        self.assertIn("programs: 1 programs, 1 run", out)


class Units(Case):
    def unit(self, name, cases, body):
        listed = " ".join(f"ASIO_TEST_CASE({case})" for case in cases)
        text = f'#include <asio.hpp>\n#include "unit_test.hpp"\n{body}\nASIO_TEST_SUITE("{name}", {listed})\n'
        self.write(f"asio/src/tests/unit/{name}.cpp", text)

    def test_cases_are_counted_one_by_one(self):
        self.write("asio/src/tests/unit/unit_test.hpp", HARNESS)
        self.unit("one", ["good", "bad", "throws", "last"],
                  "void good() { ASIO_CHECK(asio::same() == 1); }\nvoid bad() { ASIO_CHECK(asio::other() == 2); }\n"
                  "void throws() { throw std::exception(); }\nvoid last() {}\n")
        self.unit("two", ["good", "lacks"], "void good() {}\nvoid lacks() { asio::missing(); }\n")
        self.unit("uring", ["any"], "void any() { ASIO_CHECK(std::strcmp(asio::backend(), \"any\") == 0); }\n")
        self.unit("empty", ["null_test"], "")
        self.unit("execution/properties", ["good"], "void good() {}\n")
        out, found = self.run_tool("--no-examples", "--unit")
        self.assertEqual(found["units"]["one"]["passed"], {"epoll": ["good", "last"], "io_uring": ["good", "last"]})
        self.assertIn("asio::other() == 2", found["units"]["one"]["failures"]["epoll"])
        self.assertIn("missing", found["units"]["two"]["error"])
        self.assertEqual(found["units"]["uring"]["passed"], {"epoll": ["any"], "io_uring": []})
        self.assertIn("unit tests: 7 cases in 3 files, 5 compile, passed: 3 on epoll, 2 on io_uring, 2 on both", out)
        self.assertIn("headers: 1 of 1 files without a case compile", out)
        self.assertNotIn("execution/properties", found["units"])


class Examples(Case):
    def setUp(self):
        super().setUp()
        for name, text in (("talk/server", SERVER.replace("REPLY", "backend()")),
                           ("talk/unknown", program("return 0;")), ("talk/lacks", program("return asio::missing();"))):
            self.write(f"asio/src/examples/cpp11/{name}.cpp", text)
        self.write("asio/src/examples/cpp11/talk/part.cpp", "#include <asio.hpp>\nint part() { return 1; }\n")
        self.write("asio/src/examples/cpp11/windows/w.cpp", "#error not here\n")
        self.write("scenes.toml", """
[left_out]
"windows/" = "for Windows"
[[scene]]
programs = ["cpp11/talk/server"]
steps = '''
start it {port}
ready {port}
connect a tcp {port}
receive a all
end it
'''
""")
        table, examples.TABLE = examples.TABLE, self.root / "scenes.toml"
        self.addCleanup(setattr, examples, "TABLE", table)

    def test_sources_compile_and_programs_play_their_scene(self):
        out, found = self.run_tool()
        self.assertEqual(found["programs"]["example cpp11/talk/server"]["epoll"], None)
        self.assertIn("another", found["programs"]["example cpp11/talk/server"]["io_uring"])
        self.assertIn("no scene is known", found["programs"]["example cpp11/talk/unknown"])
        self.assertIn("examples: 3 of 4 sources compile", out)
        self.assertIn("examples: 3 programs, 1 run, ran alike: 1 on epoll, 0 on io_uring, 0 on both", out)
        self.assertIn("left out: 1 for Windows", out)

    def test_the_table_names_each_program_once(self):
        table = self.root / "twice.toml"
        table.write_text('[[scene]]\nprograms = ["a", "a"]\nsteps = ""\n')
        with self.assertRaisesRegex(ValueError, "two scenes"):
            examples.Scenes(table)


class Scenes(unittest.TestCase):
    """The steps, with the shell and python as programs."""

    def play(self, steps, limit_s=20, **programs):
        job = {"steps": steps, "programs": {"sh": "/bin/sh", **programs}, "files": [], "limit_s": limit_s, "port": None,
               "private": False}
        answer = scene.perform(job)
        return answer["said"], answer["error"]

    def test_a_program_reads_types_and_ends(self):
        said, error = self.play("start sh -c 'read x; echo got $x; exit 3'\ntype sh 'a word\\n'\nfinish sh\n")
        self.assertEqual(said, [["sh", "got a word\n"], ["sh's standard error", ""], ["sh's status", "3"]])
        self.assertIsNone(error)

    def test_the_tool_is_a_server(self):
        client = ('import socket; s = socket.create_connection(("127.0.0.1", {port})); s.send(b"ask" + bytes([10])); '
                  'print(s.recv(9))')
        said, error = self.play(f"listen l tcp {{port}}\nstart py -c '{client}'\naccept a l\nreceive a line\n"
                                "send a yes\nreceive a all\nfinish py\n", py=sys.executable)
        self.assertIsNone(error)
        self.assertEqual([text for _, text in said[:3]], ["ask\n", "<end>", "b'yes'\n"])

    def test_a_program_that_does_not_end_is_named_and_killed(self):
        said, error = self.play("start sh -c 'echo $$; exec sleep 1000'\nawait sh '\\n'\nfinish sh\n", limit_s=1)
        self.assertIn("finish sh: it has not ended", error)
        pid = int(said[0][1].split("'")[1].removesuffix("\\n"))
        self.assertRaises(ProcessLookupError, os.kill, pid, 0)

    def test_differences(self):
        same = [("it", "a"), ("it's status", "0")]
        self.assertIsNone(stage.difference(same, same, None))
        self.assertIn("'b', with Asio 'a'", stage.difference(same, [("it", "b"), same[1]], None))
        self.assertIn("less", stage.difference(same, same[:1], None))
        self.assertEqual(stage.difference(same, same, "end it: no"), "end it: no")
        play = stage.Play("", (r"\d+",), True)
        self.assertEqual(stage.masked("b 12\na 3", play), "a *\nb *")


if __name__ == "__main__":
    unittest.main()
