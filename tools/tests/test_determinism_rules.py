# SPDX-License-Identifier: BSL-1.0
"""Each rule finds what makes a simulation differ from run to run, and lets its harmless relatives pass."""
import tempfile
import unittest
from pathlib import Path

import lint

HEAD = "// SPDX-License-Identifier: BSL-1.0\n// Why.\n"


def rules(text, path="src/io/sim/a.cpp"):
    return {rule for _, rule, _ in lint.check_text(Path(path), HEAD + text + "\n") if rule.startswith("sim-")}


class Rules(unittest.TestCase):
    def objects(self, rule, *texts):
        for text in texts:
            with self.subTest(text):
                self.assertEqual({rule}, rules(text))

    def accepts(self, *texts):
        for text in texts:
            with self.subTest(text):
                self.assertEqual(set(), rules(text))

    def test_clocks(self):
        self.objects(
            "sim-clock",
            "auto t = std::chrono::steady_clock::now();",
            "using clock = std::chrono::system_clock;",
            "auto t = high_resolution_clock::now();",
            "clock_gettime(CLOCK_MONOTONIC, &ts);",
            "::gettimeofday(&tv, nullptr);",
            "auto t = std::time(nullptr);",
            "auto t = time(0);",
            "auto c = std::clock();",
            "auto t = __rdtsc();",
            'const char* built = __DATE__ " x";',
        )
        self.accepts(
            "sim_clock& clock() noexcept { return clock_; }",
            "auto t = world.clock().now();",
            "auto t = steady_now();",
            "return e.time(x);",
            "// std::chrono::steady_clock::now()",
        )

    def test_random_numbers(self):
        self.objects(
            "sim-random",
            "#include <random>",
            "std::random_device seed;",
            "std::mt19937 g(1);",
            "std::mt19937_64 g(1);",
            "std::default_random_engine g;",
            "std::uniform_int_distribution<int> d(0, 1);",
            "std::shuffle(a.begin(), a.end(), g);",
            "int r = rand();",
            "int r = std::rand() % 2;",
            "srand(1);",
            "getrandom(&x, sizeof x, 0);",
            "double d = drand48();",
            "long r = ::random();",
        )
        self.accepts("auto n = world.random().below(4);", "sim_random& random() noexcept;", "sim_random order_;")

    def test_hash_order(self):
        self.objects(
            "sim-hash-order",
            "std::unordered_map<int, int> m;",
            "std::unordered_set<std::string> s;",
            "std::unordered_multimap<int, int> m;",
            "auto h = std::hash<std::string>()(name);",
        )
        self.accepts("std::map<int, int> m;", "std::uint64_t hash() const;")

    def test_pointer_order(self):
        self.objects(
            "sim-pointer-order",
            "std::set<sim_socket*> all;",
            "std::map<const sim_host*, int> hosts;",
            "std::multimap<sim_host*, int> hosts;",
            "std::map<std::pair<sim_host*, sim_host*>, path> paths;",
            "std::map<\n    sim_host*,\n    int> hosts;",
            "std::set<sim_host*, std::greater<>> hosts;",
            "std::priority_queue<event*> queue;",
            "std::sort(a, b, std::less<sim_host*>());",
            "auto n = reinterpret_cast<std::uintptr_t>(&host);",
            "auto n = reinterpret_cast<uintptr_t>(&host);",
            "auto n = std::bit_cast<std::intptr_t>(p);",
            'std::printf("at %p", p);',
        )
        self.accepts(
            "std::multimap<std::uint16_t, sim_socket*> ports;",
            "std::map<std::string, sim_socket*, std::less<>> paths;",
            "std::set<sim_socket*, by_number> sockets;",
            "std::vector<sim_socket*> sockets;",
            "if (set < a * b) return;",
            'std::printf("100%");',
        )

    def test_threads(self):
        self.objects(
            "sim-thread",
            "std::thread t(f);",
            "auto id = std::this_thread::get_id();",
            "auto id = pthread_self();",
            "auto id = gettid();",
            "thread_local int depth;",
            "auto f = std::async(g);",
        )
        self.accepts("// Thread: one.", "task<> async_thing();")

    def test_surroundings(self):
        self.objects(
            "sim-surroundings",
            'const char* text = std::getenv("SEED");',
            "auto seed = ::getpid();",
            "for (auto& f : std::filesystem::directory_iterator(p)) g(f);",
        )

    def test_where_the_rules_hold(self):
        text = "std::set<int*> s;"
        for path in ("src/io/sim/a.cpp", "src/testing/a.cpp", "tests/simulation/a.cpp", "tests/fuzz/a.cpp"):
            self.assertEqual({"sim-pointer-order"}, rules(text, path), path)
        for path in ("src/io/a.cpp", "tests/io/sim/a.cpp", "bench/a.cpp"):
            self.assertEqual(set(), rules(text, path), path)

    def test_a_complaint_names_the_line_and_a_reason_allows_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "src/io/sim/a.cpp")
            path.parent.mkdir(parents=True)
            path.write_text(HEAD + "int a;\nstd::thread t;\n")
            (Path(folder) / "src/CMakeLists.txt").write_text("# SPDX-License-Identifier: BSL-1.0\n# io/sim/a.cpp\n")
            found = list(lint.check(Path(folder)))
            self.assertEqual(len(found), 1, found)
            self.assertTrue(found[0].startswith("src/io/sim/a.cpp:4: sim-thread: std::thread: "), found)
            path.write_text(HEAD + "std::thread t;  // lint: allow sim-thread, it is never started\n")
            self.assertEqual(list(lint.check(Path(folder))), [])


if __name__ == "__main__":
    unittest.main()
