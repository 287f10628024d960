# SPDX-License-Identifier: BSL-1.0
"""Each lint rule objects to the bad input written for it, and to nothing in the good input."""
import tempfile
import unittest
from pathlib import Path

import lint
from cpp_text import code_only, functions

HEAD = "// SPDX-License-Identifier: BSL-1.0\n// Why.\n"


def rules(path, text):
    return {rule for _, rule, _ in lint.check_text(Path(path), text)}


class FileRules(unittest.TestCase):
    def objects(self, rule, text, path="src/io/a.cpp", head=HEAD):
        self.assertIn(rule, rules(path, head + text))

    def accepts(self, text, path="src/io/a.cpp", head=HEAD):
        self.assertEqual(set(), rules(path, head + text))

    def test_headers(self):
        self.objects("spdx", "int a;\n", head="")
        self.objects("header-comment", "int a;\n", head=HEAD.splitlines()[0] + "\n")
        self.objects("spdx", "import sys\n", path="tools/a.py", head="#!/usr/bin/env python3\n")
        self.objects("pragma-once", "int a;\n", path="src/io/a.hpp")
        self.accepts("#pragma once\nint a;\n", path="src/io/a.hpp")

    def test_shape(self):
        self.objects("file-length", "int a;\n" * 499)
        self.accepts("int a;\n" * 498)
        self.objects("columns", "/" * 101 + "\n")
        self.accepts("/" * 100 + "\n")
        self.objects("tab", "\tint a;\n")
        self.objects("trailing-space", "int a; \n")
        self.objects("unfinished", "// TO" "DO: more\n")

    def test_function_length(self):
        body = "  a();\n" * 69
        self.objects("function-length", "void f() {\n" + body + "}\n")
        self.objects("function-length", "template <class T>\nstruct s {\n void f() {\n" + body + "}\n};\n")
        self.objects("function-length", "s::s(int a) : a_(a), b_{a} {\n" + body + "}\n")
        self.accepts("void f() {\n" + body[:-7] + "}\n")
        self.accepts("namespace n {\nstruct s {\n" + "  void g() {}\n" * 100 + "};\n}\n")

    def test_conditional_compilation(self):
        self.objects("if", "#ifdef X\n#endif\n")
        self.objects("if", "# if X\n#endif\n", path="tests/io/a_test.cpp")
        self.accepts("#pragma once\n#if X\n#endif\n", path="include/beck/detail/checked_result.hpp")
        self.accepts("#if X\n#endif\n", path="src/base/a.cpp")
        self.accepts("// #if X\n")

    def test_option_structs(self):
        public = "include/beck/io/a.hpp"
        braces = "#pragma once\nstruct a_options {\n  int a = 1;\n};\n"
        self.objects("option-struct", braces, path=public)
        self.accepts(braces + "static_assert(std::is_trivially_destructible_v<a_options>);\n", path=public)
        self.accepts(braces, path="src/io/a.hpp")

    def test_async_names(self):
        public = "include/beck/io/a.hpp"
        self.objects("async-task", "#pragma once\ntask<io_result<>> async_run(int a);\n", path=public)
        self.accepts("#pragma once\ntask<io_result<>> run(int a);\n", path=public)

    def test_public_includes(self):
        public = "include/beck/io/a.hpp"
        self.objects("heavy-header", "#pragma once\n#include <string>\n", path=public)
        self.objects("heavy-header", "#pragma once\n#include <system_error>\n", path=public)
        self.objects("system-header", "#pragma once\n#include <sys/socket.h>\n", path=public)
        self.objects("system-header", "#pragma once\n#include <stdint.h>\n", path=public)
        self.accepts("#pragma once\n#include <utility>\n#include <beck/base/error.hpp>\n", path=public)
        self.accepts("#pragma once\n#include <system_error>\n", path="include/beck/base/error.hpp")
        self.accepts("#pragma once\n#include <string>\n", path="include/beck/interop/a.hpp")
        self.accepts("#include <string>\n#include <sys/socket.h>\n")

    def test_system_calls(self):
        for call in (
            "auto n = ::send(fd, p, n, 0);",
            "return ::read(fd, p, n);",
            "clock_gettime(CLOCK_MONOTONIC, &t);",
            "std::random_device d;",
            "auto t = std::chrono::steady_clock::now();",
            "epoll_wait(fd, e, 1, 0);",
            "syscall(SYS_io_uring_enter, fd);",
        ):
            self.objects("system-call", call + "\n")
            self.accepts(call + "\n", path="src/io/system/posix_system.cpp")
            self.accepts(call + "\n", path="src/io/uring/ring.cpp")
        self.objects("system-call", "auto n = ::send(fd, p, n, 0);\n", path="src/io/sim/sim_system.cpp")
        self.accepts("auto n = system.send(op);\nauto m = io::read(x);\nfoo::close(y);\n")
        self.accepts('log("::read(");  // ::read(fd)\n')

    def test_sleeps(self):
        self.objects("sleep", "std::this_thread::sleep_for(1ms);\n", path="tests/io/a_test.cpp")
        self.objects("sleep", "::sleep(seconds);\n", path="tests/io/a_test.cpp")
        self.objects("sleep", "sleep(1);\n", path="tests/io/a_test.cpp")
        self.accepts("bool ring::sleep(int deadline);\n", path="tests/io/a_test.cpp")

    def test_folders(self):
        self.objects("detail", "#pragma once\n", path="include/beck/io/detail/a.hpp")
        self.accepts("#pragma once\n", path="include/beck/detail/a.hpp")

    def test_literals_are_not_code(self):
        code = code_only("a = \"//\"; b = 'x'; c = 1'000; // \"d\"\ne = R\"(\n\")\";\n")
        self.assertEqual(code.count("\n"), 3)
        self.assertIn("c = 1'000;", code)
        self.assertNotIn("d", code)

    def test_functions_are_found(self):
        code = "namespace n {\nstruct s { int a{1}; void f() { if (a) { b(); } } };\nvoid g() {}\nint t[] = {1};\n}\n"
        self.assertEqual([code[s : e + 1] for s, e in functions(code)], ["{ if (a) { b(); } }", "{}"])


class CoroutineRules(unittest.TestCase):
    def objects(self, rule, statement, result="task"):
        text = f"{HEAD}beck::{result}<> f() {{\n  {statement}\n  co_return;\n}}\n"
        self.assertIn(rule, rules("examples/a.cpp", text), statement)

    def accepts(self, statement, result="task"):
        text = f"{HEAD}beck::{result}<> f() {{\n  {statement}\n  co_return;\n}}\n"
        self.assertEqual(set(), rules("examples/a.cpp", text), statement)

    def test_captures(self):
        self.objects("co-capture", "co_await run([s] { g(s); });")
        self.objects("co-capture", "co_await run(1, [&a, s = std::move(s)]() mutable { g(s); });")
        self.objects("co-capture", "auto x = co_await run([=](int) -> task<> { g(s); });")
        self.accepts("co_await run([](int s) { g(s); });")
        self.accepts("co_await run([&](int s) { g(s); });")
        self.accepts("co_await run([&a, this](int s) { g(s); });")
        self.accepts("auto h = [s] { g(s); };\n  co_await run(h);")
        self.accepts("co_await run([&] { auto inner = [s] { g(s); }; inner(); });")
        self.accepts("co_await run(a[i], b[j]);")

    def test_braces(self):
        self.objects("co-braced-argument", 'co_await f({S(5), "x"});')
        self.objects("co-braced-argument", "co_await f(a, {.size = S(5)});")
        self.objects("co-braced-argument", "co_await f({.idle_timeout = 5s}, {.size = S(5)});")
        self.accepts("co_await f(a, {.idle_timeout = 5s});")
        self.objects("co-braced-await", "P p{co_await a(), co_await b()};")
        self.accepts("auto o = options(5);\n  co_await f(o);")
        self.accepts("for (;;) { co_await a(); }")

    def test_captured_await(self):
        self.objects("co-capture-await", "auto h = [s = co_await a()] { g(s); };")

    def test_conditions(self):
        self.objects("co-condition", "if (co_await x) g();")
        self.objects("co-condition", "if (a > 1 && (co_await x).ok()) g();")
        self.objects("co-condition", "if (a) b();\n  else if (co_await x) g();")
        self.objects("co-condition", "switch (co_await x) {}")
        self.objects("co-condition", "bool b = !co_await x;")
        self.objects("co-condition", "bool b = a && co_await x;")
        self.accepts("if (auto v = co_await x; v) g();")
        self.objects("co-condition", "while (co_await x) g();")
        self.objects("co-condition", "do g();\n  while (co_await x);")
        self.objects("co-condition", "for (; co_await x;) g();")
        self.accepts("if (auto v = co_await x) g();")
        self.accepts("while (const auto& v = co_await x) g();")
        self.accepts("for (auto v : co_await x) g();")
        self.accepts("for (auto v = co_await x; v < 5; ++v) g();")
        self.accepts("if (a) co_await x;")

    def test_spawn(self):
        self.objects("co-spawn-await", "co_spawn(co_await this_coro::executor, g(), detached);")
        self.accepts("auto ex = co_await this_coro::executor;\n  co_spawn(ex, g(), detached);")

    def test_dropped_results(self):
        self.objects("co-dropped", "co_await socket.async_read_some(b);")
        self.objects("co-dropped", "co_await beck::timeout(async_write(s, b), 5s);")
        self.objects("co-dropped", "if (a) co_await socket.async_read_some(b);")
        self.objects("co-dropped", "for (;;) {\n co_await socket.async_read_some(b);\n }")
        self.accepts("auto r = co_await socket.async_read_some(b);")
        self.accepts("beck::ignore(co_await socket.async_read_some(b));")
        self.accepts("(co_await socket.async_read_some(b)).value();")
        self.accepts("co_return co_await socket.async_read_some(b);")
        self.accepts("co_await mutex.lock();")
        self.accepts("co_await socket.async_read_some(b);", result="awaitable")

    def test_bindings(self):
        self.objects("co-binding", "auto [ec, s] = co_await acceptor.async_accept();")
        self.accepts("auto [ec, n] = co_await socket.async_read_some(b);")

    def test_alignment(self):
        self.objects("co-alignas", "alignas(64) char data[64];")
        self.assertEqual(set(), rules("examples/a.cpp", HEAD + "void f() {\n  alignas(64) char d[64];\n}\n"))


class WholeTree(unittest.TestCase):
    def check(self, tree):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in tree.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return list(lint.check(Path(folder)))

    def test_a_complaint_names_file_line_and_rule(self):
        found = self.check({"examples/a.cpp": HEAD + "int a;\n\tint b;\n"})
        self.assertEqual(found, ["examples/a.cpp:4: tab: tabs are not used"])

    def test_a_reason_allows_an_exception_to_one_rule(self):
        line = "auto f() { return g(co_await run([n] { h(n); })); }"
        text = HEAD + line + "  // lint: allow %s, n is an int\n"
        self.assertEqual(self.check({"examples/a.cpp": text % "co-capture"}), [])
        self.assertNotEqual(self.check({"examples/a.cpp": text % "co-condition"}), [])
        self.assertNotEqual(self.check({"examples/a.cpp": HEAD + line + "\n"}), [])

    def test_documents_are_read_too(self):
        found = self.check({"README.md": "# x\n```cpp\n#include <a>\nif (co_await x) g();\n```\n"})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("README.md:4: co-condition: "), found[0])

    def test_prose_of_documents_has_a_width(self):
        prose = "x" * 141 + "\n"
        found = self.check({"docs/a.md": "# x\n" + prose})
        self.assertEqual(found, ["docs/a.md:2: prose-columns: 141 columns; at most 140"])
        exempt = f"| {prose}```text\n{prose}```\n{'x' * 130} [a](docs/b.md#{'y' * 40})\n"
        self.assertEqual(self.check({"docs/a.md": "x" * 140 + "\n" + exempt, "CHANGELOG.md": prose}), [])
        self.assertEqual(len(self.check({"docs/a.md": exempt + prose})), 1)

    def test_files_that_nobody_builds_are_found(self):
        cmake = "# SPDX-License-Identifier: BSL-1.0\n# Why.\n"
        tree = {"src/io/a.cpp": HEAD, "tests/io/a_test.cpp": HEAD, "include/beck/io/a.hpp": HEAD + "#pragma once\n"}
        lists = {"src/CMakeLists.txt": cmake, "tests/CMakeLists.txt": cmake}
        self.assertEqual(len(self.check({**tree, **lists})), 3)
        lists["src/CMakeLists.txt"] += "io/a.cpp\nio/a.hpp\n"
        lists["tests/CMakeLists.txt"] += "io/a_test.cpp\n"
        self.assertEqual(self.check({**tree, **lists}), [])

    def test_a_name_is_defined_once_in_the_library(self):
        one = HEAD + "#pragma once\nnamespace beck::a {\nstruct twice {\n  int x;\n};\nstruct told;\n"
        one += "}  // namespace beck::a\n"
        hidden = "namespace {\nstruct hidden {};\n}  // namespace"
        other = one.replace("int x", "long x").replace("struct told;", hidden)
        elsewhere = other.replace("beck::a", "beck::b").replace("struct hidden {};", "struct hidden {\n};")
        found = self.check({"src/a/x.hpp": one, "src/a/y.hpp": other, "src/b/z.hpp": elsewhere})
        self.assertEqual([c for c in found if "defined-twice" in c],
                         ["src/a/y.hpp:5: defined-twice: beck::a::twice is defined in src/a/x.hpp, too"])


if __name__ == "__main__":
    unittest.main()
