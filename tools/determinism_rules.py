# SPDX-License-Identifier: BSL-1.0
"""Lint rules for the code whose runs must follow from a seed alone: the simulator, what tests are built on, and the
simulated schedules. They find what gives another order or another number on the next run, machine or compiler: real
clocks, foreign random numbers, the order of hashes and of addresses, threads, and the process's surroundings.

A line that is right in spite of a rule says so: // lint: allow sim-clock, it limits a child process
"""
import re

FOLDERS = ("src/io/sim/", "src/testing/", "include/beck/testing/", "tests/simulation/", "tests/fuzz/")

WORDS = {
    "sim-clock": (
        r"\b\w+_clock::now\b|\b(?:std::chrono::)?(?:steady|system|high_resolution|file|utc|tai)_clock\b"
        r"|\b(?:clock_gettime|gettimeofday|timespec_get|ftime|__rdtscp?|__builtin_ia32_rdtscp?)\s*\("
        r"|(?<![\w.>:])(?:std::|::)?time\s*\(\s*(?:nullptr|NULL|0|&\w+)\s*\)|(?<![\w.>])(?:std)?::clock\s*\("
        r"|\b__(?:DATE|TIME|TIMESTAMP)__\b",
        "only virtual time may enter a simulation",
    ),
    "sim-random": (
        r"\b(?:random_device|mt19937(?:_64)?|minstd_rand0?|default_random_engine|ranlux\w+|knuth_b|\w+_distribution"
        r"|random_shuffle)\b|\bstd::(?:shuffle|sample|generate_canonical)\b|<random>"
        r"|(?<![\w.>:])(?:std::|::)?(?:s?rand|rand_r|[delmnj]rand48|srandom|getrandom|getentropy|arc4random\w*)\s*\("
        r"|(?<![\w.>])::random\s*\(",
        "draw from the world: a sim_random, or world::random()",
    ),
    "sim-hash-order": (
        r"\bunordered_(?:multi)?(?:map|set)\b|\bstd::hash\b",
        "hash order differs between libraries: use an ordered or indexed container",
    ),
    "sim-pointer-order": (
        r"\bu?intptr_t\b|\bowner_less\b",
        "addresses differ from run to run: number the things instead",
    ),
    "sim-thread": (
        r"\bstd::(?:jthread|thread|async|this_thread)\b|\bthis_thread::|\b(?:pthread_self|gettid|sched_getcpu)\s*\("
        r"|\bthread_local\b",
        "a simulation is one thread, and must not know which",
    ),
    "sim-surroundings": (
        r"\b(?:getenv|secure_getenv|getpid|getppid|gethostname|uname)\s*\(|\bdirectory_iterator\b",
        "what surrounds the process must not enter a simulation",
    ),
}
COMPILED = {rule: (re.compile(pattern), message) for rule, (pattern, message) in WORDS.items()}
CONTAINER = re.compile(r"\b(?:std::)?((?:multi)?(?:map|set)|flat_map|flat_set|priority_queue|less|greater)\s*<")
ARGUMENTS_WITHOUT_ORDER = {"map": 2, "multimap": 2, "flat_map": 2, "set": 1, "multiset": 1, "flat_set": 1,
                           "priority_queue": 2, "less": 1, "greater": 1}  # fmt: skip
ORDER_OF_ADDRESSES = re.compile(r"\b(?:less|greater)\b")
PRINTED_ADDRESS = re.compile(r'"(?:\\.|[^"\\\n])*%p')


def applies(path):
    return path.as_posix().startswith(FOLDERS)


def template_arguments(code, start):
    """The arguments of a template whose `<` stands before `start`; None if that is no template."""
    found, depth, begin = [], 1, start
    for position in range(start, min(len(code), start + 2000)):
        character = code[position]
        if character in "<([{":
            depth += 1
        elif character in ">)]}":
            depth -= 1
        if character == ";" or (depth == 0 and character != ">"):
            return None
        if depth == 0 or (character == "," and depth == 1):
            found.append(code[begin:position].strip())
            begin = position + 1
        if depth == 0:
            return found
    return None


def by_address(code):
    """Containers and comparisons that order pointers, as positions."""
    for match in CONTAINER.finditer(code):
        arguments = template_arguments(code, match.end())
        if not arguments or "*" not in arguments[0]:
            continue
        own_order = arguments[ARGUMENTS_WITHOUT_ORDER[match[1]] :]
        if not own_order or ORDER_OF_ADDRESSES.search(own_order[0]):
            yield match.start(), f"{match[1]} orders addresses, which differ from run to run: number the things instead"


def check(code, text):
    """Complaints as (position, rule, message); `code` is `text` without comments and the insides of literals."""
    for rule, (pattern, message) in COMPILED.items():
        for match in pattern.finditer(code):
            yield match.start(), rule, f"{match.group().strip()}: {message}"
    for position, message in by_address(code):
        yield position, "sim-pointer-order", message
    for match in PRINTED_ADDRESS.finditer(text):
        yield match.start(), "sim-pointer-order", "%p prints an address, which differs from run to run"
