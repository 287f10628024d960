# SPDX-License-Identifier: BSL-1.0
"""Tests of the benchmark's statistics, of its ratios and targets, and of what it does with bad input.

usage: python3 -m unittest discover -s tests/bench
"""
import json
import math
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from harness import catalogue, compilation, execute, machine, peers, results, stats, targets


def samples(**by_peer):
    """One case "chain" of the benchmark post, or what the peer's name says after two underscores."""
    return {
        (name.partition("__")[2] or "chain", name.partition("__")[0].replace("_", "-")): [
            {"cpu_ns_per_op": float(value), "wall_ns_per_op": 2.0 * value} for value in values
        ]
        for name, values in by_peer.items()
    }


class Median(unittest.TestCase):
    def test_of_an_odd_count_is_the_middle_value(self):
        self.assertEqual(stats.median([9, 1, 5]), 5)

    def test_of_an_even_count_is_half_way_between_the_two_middle_values(self):
        self.assertEqual(stats.median([4, 1, 2, 9]), 3)

    def test_of_nothing_is_an_error(self):
        with self.assertRaises(ValueError):
            stats.median([])


class Interval(unittest.TestCase):
    @staticmethod
    def coverage(count, low):
        return 1 - 2 * sum(math.comb(count, k) for k in range(low)) / 2**count

    def test_of_nine_rounds_leaves_out_one_value_at_each_end(self):
        self.assertEqual(stats.interval_ranks(9), (2, 8))

    def test_covers_the_median_as_often_as_it_says_and_is_the_narrowest_that_does(self):
        for count in range(5, 60):
            low, high = stats.interval_ranks(count)
            self.assertEqual(low + high, count + 1)
            self.assertGreaterEqual(self.coverage(count, low), 0.9)
            if low + 1 <= high - 1:
                self.assertLess(self.coverage(count, low + 1), 0.9)

    def test_of_few_rounds_spans_all_values(self):
        for count in range(1, 5):
            self.assertEqual(stats.interval_ranks(count), (1, count))

    def test_does_not_depend_on_the_order_of_the_rounds(self):
        a = stats.summarize([3, 1, 2, 9, 5, 4, 8, 7, 6])
        self.assertEqual((a.median, a.low, a.high, a.min, a.max, a.count), (5, 2, 8, 1, 9, 9))

    def test_is_wider_for_more_confidence(self):
        self.assertEqual(stats.interval_ranks(20, 0.4), (9, 12))
        self.assertEqual(stats.interval_ranks(20, 0.99), (4, 17))


class Ratios(unittest.TestCase):
    def test_are_taken_within_a_round(self):
        # The machine became twice as slow in the second half: the ratio of the rounds does not see it.
        ours, theirs = [10, 10, 20, 20, 20], [20, 20, 40, 40, 40]
        self.assertEqual(stats.ratios(ours, theirs), [0.5] * 5)

    def test_need_as_many_rounds_of_both(self):
        with self.assertRaises(ValueError):
            stats.ratios([1, 2], [1])

    def test_geometric_mean_of_a_ratio_and_its_inverse_is_one(self):
        self.assertAlmostEqual(stats.geometric_mean([4, 0.25]), 1)

    def test_geometric_mean_refuses_what_has_none(self):
        for values in ([], [1, 0], [-1]):
            with self.assertRaises(ValueError):
                stats.geometric_mean(values)


class Tables(unittest.TestCase):
    def setUp(self):
        bench = catalogue.BENCHES["post"]
        self.results = results.Results(bench, samples(beck_uring=[5, 6, 7], asio_epoll=[50, 60, 70], raw=[2, 2, 2]))

    def test_json_has_one_object_a_line_with_exactly_the_agreed_keys(self):
        keys = {"bench", "case", "peer", "metric", "unit", "median", "min", "max", "rounds"}
        lines = [json.loads(line) for line in self.results.json_lines()]
        self.assertTrue(all(set(line) == keys for line in lines))
        cpu = {line["peer"]: line for line in lines if line["metric"] == "cpu_ns_per_op"}
        self.assertEqual(set(cpu), {"beck-uring", "asio-epoll", "raw"})
        self.assertEqual((cpu["beck-uring"]["median"], cpu["beck-uring"]["min"], cpu["beck-uring"]["max"]), (6, 5, 7))
        self.assertEqual(cpu["beck-uring"]["rounds"], 3)

    def test_rivals_are_all_but_beck_and_a_peer_is_not_its_own_rival(self):
        text = list(results.case_table(self.results, "chain"))
        self.assertIn("/ asio-epoll", text[0])
        self.assertNotIn("/ beck", text[0])
        beck = next(line for line in text if line.startswith("beck-uring"))
        self.assertIn("0.100 [0.100 0.100]", beck)

    def test_a_case_is_compared_with_the_peers_of_its_floor_too(self):
        found = results.Results(
            catalogue.BENCHES["pingpong"], samples(beck_uring__callback=[500, 500], raw_uring_lazy__raw=[450, 500])
        )
        self.assertAlmostEqual(found.ratio(("callback", "beck-uring"), ("raw", "raw-uring-lazy")).max, 500 / 450)
        self.assertEqual(found.find("callback", "raw-uring-lazy"), ("raw", "raw-uring-lazy"))
        self.assertIsNone(found.find("callback", "raw-epoll"))

    def test_compile_time_is_measured_above_the_base_of_the_same_round(self):
        found = samples(raw=[1e9, 2e9], beck_uring=[1.5e9, 2.25e9])
        compilation.add_base(found)
        self.assertEqual([s["above_base_s"] for s in found["chain", "beck-uring"]], [0.5, 0.25])


class Counters(unittest.TestCase):
    def lines(self, **sample):
        peers = (("beck-epoll", sample), ("raw", {}))
        both = {("chain", peer): [{"cpu_ns_per_op": 1.0} | extra] for peer, extra in peers}
        return list(results.extra_lines(results.Results(catalogue.BENCHES["post"], both), "chain"))

    def test_of_a_peer_stand_in_one_line(self):
        self.assertEqual(
            self.lines(hops_per_op=1.015, attempts_per_op=0.5),
            ["  beck-epoll per handler: hops 1.015, attempts 0.500"],
        )

    def test_that_are_next_to_nothing_stay_out_but_for_kernel_entries_and_allocations(self):
        self.assertEqual(
            self.lines(hops_per_op=0.0001, kernel_entries_per_op=0.0001, allocations_per_op=0.0),
            ["  beck-epoll per handler: kernel_entries 0, allocations 0"],
        )

    def test_other_figures_have_a_line_for_all_peers(self):
        self.assertEqual(self.lines(timer_gap_max_us=12.34), ["  timer_gap_max_us: beck-epoll 12.3"])

    def test_keep_every_digit_in_the_json(self):
        sample = {"cpu_ns_per_op": 1.0, "hops_per_op": 0.0004}
        found = results.Results(catalogue.BENCHES["post"], {("chain", "beck-epoll"): [sample]})
        lines = [json.loads(line) for line in found.json_lines()]
        self.assertEqual([line["median"] for line in lines if line["metric"] == "hops_per_op"], [0.0004])


class Targets(unittest.TestCase):
    def verdicts(self, bench, **by_peer):
        found = results.Results(catalogue.BENCHES[bench], samples(**by_peer))
        return {check.what: check for check in targets.checks(found)}

    def test_a_ratio_above_the_limit_is_a_miss(self):
        checks = self.verdicts("pingpong", beck_uring__callback=[60] * 9, asio_epoll__callback=[100] * 9)
        self.assertTrue(checks["callback: beck-uring / asio-epoll"].passed)
        checks = self.verdicts("pingpong", beck_uring__callback=[70] * 9, asio_epoll__callback=[100] * 9)
        self.assertFalse(checks["callback: beck-uring / asio-epoll"].passed)

    def test_an_absolute_limit_grows_with_the_raw_peer_but_not_past_half(self):
        for raw, limit in ((1.0, 10), (2.4, 12), (20.0, 15)):
            checks = self.verdicts("post", beck_uring=[14] * 9, raw=[raw] * 9)
            self.assertAlmostEqual(checks["chain: beck-uring"].limit, limit)

    def test_echo_is_judged_by_each_point_and_by_their_mean(self):
        raw = {"raw_epoll__1x64": [1], "raw_epoll__10x64": [1]}
        checks = self.verdicts("echo", beck_epoll__1x64=[1.2], beck_epoll__10x64=[0.9], **raw)
        self.assertTrue(checks["geometric mean: beck-epoll / raw-epoll"].passed)
        self.assertAlmostEqual(checks["1x64: beck-epoll / raw-epoll"].measured, 1.2)

    def test_a_parser_is_judged_by_each_head(self):
        short = {"beck__head_37": [20], "llhttp__head_37": [60]}
        checks = self.verdicts("http_parse", beck__head_703=[80], picohttpparser__head_703=[100], **short)
        self.assertTrue(checks["head_37: beck / llhttp"].passed)
        self.assertFalse(checks["head_703: beck / picohttpparser"].passed)
        self.assertEqual(len(checks), 2)

    def test_a_hit_of_a_cache_is_judged_by_its_time_and_its_allocations(self):
        figures = {"beck-epoll": (59, 0), "beck-uring": (64, 1), "raw": (16, 0)}
        found = {
            ("long", peer): [{"cpu_ns_per_op": ns, "allocations_per_op": count}] * 9
            for peer, (ns, count) in figures.items()
        }
        judged = targets.checks(results.Results(catalogue.BENCHES["redis_cache"], found))
        checks = {check.what: check for check in judged}
        self.assertTrue(checks["long: beck-epoll"].passed)
        self.assertFalse(checks["long: beck-uring"].passed)
        self.assertTrue(checks["long: beck-epoll, allocations"].passed)
        self.assertFalse(checks["long: beck-uring, allocations"].passed)

    def test_a_gap_may_be_longer_beside_a_flooded_socket_but_not_without_bound(self):
        for case, gap, passed in (("coroutine", 251, False), ("flooded", 251, True), ("flooded", 1001, False)):
            sample = {"cpu_ns_per_op": 1.0, "timer_gap_p999_us": gap}
            found = results.Results(catalogue.BENCHES["read_until"], {(case, "beck-epoll"): [sample]})
            verdicts = {check.what: check.passed for check in targets.checks(found)}
            self.assertEqual(verdicts[f"{case}: beck-epoll, timer_gap_p999_us"], passed)

    def test_flooded_is_run_by_the_libraries_alone(self):
        chosen = catalogue.slots(catalogue.BENCHES["read_until"], ["flooded"])
        self.assertEqual(tuple(slot.peer for slot in chosen), peers.LIBRARIES)

    def test_one_context_on_two_threads_is_judged_by_wall_time(self):
        checks = self.verdicts(
            "threads",
            beck_epoll__shared_1=[100] * 9,
            beck_epoll__shared_2=[90] * 9,
            beck_epoll__exclusive_1=[60] * 9,
            asio_epoll__shared_2=[130] * 9,
            beck_epoll__shared_1_busy=[500] * 9,
            beck_epoll__shared_2_busy=[320] * 9,
        )
        alone = checks["shared_2 / shared_1: beck-epoll, wall"]
        self.assertTrue(alone.passed)
        self.assertEqual(alone.note, "to exclusive_1: 1.50 [1.50 1.50]")
        self.assertFalse(checks["shared_2: beck-epoll / asio-epoll, wall"].passed)
        self.assertFalse(checks["shared_2_busy / shared_1_busy: beck-epoll, wall"].passed)

    def test_without_beck_there_is_nothing_to_judge(self):
        self.assertEqual(self.verdicts("post", asio_epoll=[1], raw=[1]), {})


class Running(unittest.TestCase):
    class Absent:
        def missing(self, slot):
            return f"{slot.peer} is not built" if slot.peer == "beck-uring" else ""

    def test_a_missing_peer_is_an_error_unless_the_peers_are_named(self):
        post = catalogue.BENCHES["post"]
        with self.assertRaisesRegex(machine.RunError, "beck-uring is not built"):
            execute.available(catalogue.slots(post), self.Absent(), "", "", print)
        chosen = execute.available(catalogue.slots(post, None, ["raw"]), self.Absent(), "", "", print)
        self.assertEqual([(s.case.name, s.peer) for s in chosen], [("chain", "raw"), ("chains64", "raw")])

    def test_ring_peers_are_left_out_with_a_line_that_says_why(self):
        bench = catalogue.BENCHES["pingpong"]
        how = execute.Programs(bench, Path("/nonexistent"), 1)
        how.missing = lambda slot: ""
        for backend, refusal, words in (("epoll", "", "BECK_BACKEND"), ("", "io_uring_setup: no", "setup: no")):
            said = []
            chosen = execute.available(catalogue.slots(bench), how, backend, refusal, said.append)
            self.assertFalse({slot.peer for slot in chosen} & peers.RING_PEERS)
            self.assertIn(words, said[0])
            self.assertIn("raw-uring-lazy", said[0])

    def test_the_ring_is_left_out_of_shared_contexts_with_a_line_that_says_why(self):
        how = execute.Programs(catalogue.BENCHES["threads"], Path("/nonexistent"), 1)
        how.missing = lambda slot: ""
        said = []
        chosen = execute.available(catalogue.slots(catalogue.BENCHES["threads"]), how, "", "", said.append)
        shared = [slot for slot in chosen if slot.case.name == "shared_2"]
        self.assertEqual([slot.peer for slot in shared], ["beck-epoll", "asio-epoll", "raw"])
        self.assertEqual(len(said), 1)
        self.assertIn("shared_2", said[0])
        self.assertIn("beck-uring: contexts for several threads run on epoll", said[0])

    def test_a_peer_that_no_package_has_is_left_out_with_a_line_that_says_why(self):
        how = execute.Programs(catalogue.BENCHES["http_parse"], Path("/nonexistent"), 1)
        how.missing = lambda slot: "not built" if slot.peer == "picohttpparser-native" else ""
        said = []
        chosen = execute.available(catalogue.slots(catalogue.BENCHES["http_parse"]), how, "", "", said.append)
        self.assertEqual({slot.peer for slot in chosen}, {"beck", "llhttp", "picohttpparser", "raw"})
        self.assertEqual(len(said), 1)
        self.assertIn("picohttpparser-native: no package has it", said[0])

    def test_unknown_names_are_refused(self):
        for bench, cases, peers in (("post", ["chian"], None), ("post", None, ["asio"]), ("post", None, ["raw-epoll"])):
            with self.assertRaises(LookupError):
                catalogue.slots(catalogue.BENCHES[bench], cases, peers)

    def test_takes_the_library_without_a_mechanism_only_where_it_is_named(self):
        pingpong = catalogue.BENCHES["pingpong"]
        self.assertFalse({slot.peer for slot in catalogue.slots(pingpong)} & set(peers.VARIANTS))
        chosen = catalogue.slots(pingpong, ["callback"], ["beck-uring", "beck-uring-eager"])
        self.assertEqual([slot.peer for slot in chosen], ["beck-uring", "beck-uring-eager"])

    def test_echo_takes_any_number_of_connections_and_any_size(self):
        chosen = catalogue.slots(catalogue.BENCHES["echo"], ["7x333"], ["raw-epoll"])
        self.assertEqual([(s.case.name, s.peer) for s in chosen], [("7x333", "raw-epoll")])

    def test_a_line_that_was_not_checked_is_an_error(self):
        line = {"bench": "post", "case": "chain", "messages": 10, "wall_ns": 50, "cpu_ns": 40, "checked": True}
        self.assertEqual(execute.metrics(line), {"cpu_ns_per_op": 4, "wall_ns_per_op": 5})
        for change in ({"checked": False}, {"messages": 0}):
            with self.assertRaises(machine.RunError):
                execute.metrics(line | change)

    def test_a_program_that_fails_or_hangs_is_an_error_with_its_words(self):
        with self.assertRaisesRegex(machine.RunError, "status 3\nsome words"):
            machine.run(["sh", "-c", "echo some words >&2; exit 3"], 30)
        with self.assertRaisesRegex(machine.RunError, "no end after"):
            machine.run(["sh", "-c", "tail -f /dev/null"], 0.1)

    def test_rounds_are_interleaved_after_a_warm_up_that_is_not_counted(self):
        order = []

        class Recorder:
            def run(self, slot, warm_up):
                order.append((slot.peer, warm_up))
                return {"cpu_ns_per_op": len(order)}

        bench = catalogue.BENCHES["post"]
        chosen = catalogue.slots(bench, ["chain"], ["asio-epoll", "raw"])
        stderr, sys.stderr = sys.stderr, open("/dev/null", "w", encoding="ascii")
        try:
            found = execute.interleave(bench, chosen, Recorder(), 2, print)
        finally:
            sys.stderr.close()
            sys.stderr = stderr
        self.assertEqual(order, [("asio-epoll", True), ("raw", True)] + 2 * [("asio-epoll", False), ("raw", False)])
        self.assertEqual([s["cpu_ns_per_op"] for s in found["chain", "raw"]], [4, 6])


class Machine(unittest.TestCase):
    def test_sets_of_cpus_are_read_as_the_kernel_writes_them(self):
        self.assertEqual(machine.cpu_list("0-2,5\n"), [0, 1, 2, 5])
        self.assertEqual(machine.cpu_list("3"), [3])

    def test_two_cpus_are_among_the_allowed_ones(self):
        self.assertLessEqual(set(machine.two_cpus()), os.sched_getaffinity(0))


if __name__ == "__main__":
    unittest.main()
