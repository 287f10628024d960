# SPDX-License-Identifier: BSL-1.0
"""The benchmark of file copies: beck-copy with each of its engines beside dd, cp and fio."""
import filecmp
import json
import os
import shutil
from pathlib import Path

from .machine import RunError, run
from .results import layout, number

GIB = 1 << 30
TIMEOUT_S = 120
BLOCK = "256K"  # of dd; cp takes the same by itself
# fio reads or writes but does not copy: a file to a file is a job that reads beside one that writes.
FIO = (
    "--thread --group_reporting --invalidate=0 --fallocate=none --create_fsync=0 --randrepeat=0 "
    "--ioengine=io_uring --iodepth=4 --bs=128K"
).split()
ZEROS, NULL = "/dev/zero", "/dev/null"


def read_source(path):
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def forget(path):
    """Drops a file from the page cache. What is not on the disk yet cannot be dropped."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def touch_memory(path, size):
    """The page cache of a new file is memory that was just free: without this the first peer after others that needed
    less would pay for memory that the machine has not touched for long, two or three times as much CPU time."""
    block = bytes(1 << 20)
    with open(path, "wb", buffering=0) as file:
        for _ in range(0, size, len(block)):
            file.write(block)
    path.unlink()


class Copies:
    """Peers that copy `size` bytes; figures are per GiB."""

    def __init__(self, build, root, size):
        self.size = size or GIB
        self.duration_ms = 0
        self.tool = build / "apps" / "beck-copy" / "beck-copy"
        alone = build / "programs"
        self.stopwatch = (alone if alone.is_dir() else build / "bench" / "programs") / "stopwatch"
        self.folder = Path(os.environ.get("TMPDIR") or root / "out") / f"bench-copy-{os.getpid()}"
        self.source, self.target = self.folder / "source", self.folder / "target"
        self.refusals = {}

    def __enter__(self):
        self.folder.mkdir(parents=True)
        with open(self.source, "wb") as file:  # not zeros: nothing may be clever about them
            for _ in range(0, self.size, 1 << 20):
                file.write(os.urandom(min(1 << 20, self.size - file.tell())))
            file.flush()
            os.fsync(file.fileno())
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def ends(self, case):
        source = ZEROS if case.startswith("zero") else self.source
        return source, self.target if case.endswith("-file") else NULL

    def missing(self, slot):
        if not self.stopwatch.exists():
            return f"{self.stopwatch} is not built"
        if slot.peer.startswith("beck-"):
            return "" if self.tool.exists() else f"{self.tool} is not built"
        return "" if shutil.which(slot.peer) else f"{slot.peer} is not installed"

    def command(self, slot, size):
        source, target = map(str, self.ends(slot.case.name))
        if slot.peer == "dd":
            return ["dd", f"if={source}", f"of={target}", f"bs={BLOCK}", f"count={size}", "iflag=count_bytes",
                    "status=none"]
        if slot.peer == "cp":
            return ["cp", "--reflink=never", source, target]
        if slot.peer == "fio":
            return ["fio", *FIO, f"--size={size}", *self.fio_jobs(source, target)]
        return [str(self.tool), "--engine", slot.peer.removeprefix("beck-"), "--size", str(size), source, target]

    def fio_jobs(self, source, target):
        read = ["--name=read", "--rw=read", f"--filename={source}"]
        write = ["--name=write", "--rw=write", f"--filename={target}"]
        return (read if source != ZEROS or target == NULL else []) + (write if target != NULL else [])

    def refusal(self, slot):
        """Why the kernel does not do this engine in this case, found out by a small copy; or ""."""
        if not slot.peer.startswith("beck-") or slot.peer == "beck-auto":
            return ""
        try:
            run(self.command(slot, 4096), TIMEOUT_S)
        except RunError as e:
            return str(e).splitlines()[-1].partition("; ")[0].removeprefix("beck-copy: ")
        return ""

    def run(self, slot, warm_up):
        source, target = self.ends(slot.case.name)
        self.target.unlink(missing_ok=True)  # to cut an old one to length would cost, and not everybody does it
        if target == self.target:
            touch_memory(target, self.size)
        if slot.case.name.endswith("cold"):
            forget(source)
        elif source == self.source and warm_up:
            read_source(source)
        used = json.loads(run([str(self.stopwatch), *self.command(slot, self.size)], TIMEOUT_S))
        if target == self.target:
            self.check(slot, source, warm_up)
        return figures(used, self.size)

    def check(self, slot, source, warm_up):
        """The length always, every byte once; fio writes bytes of its own."""
        if self.target.stat().st_size != self.size:
            raise RunError(f"{slot.peer} wrote {self.target.stat().st_size} bytes instead of {self.size}")
        if warm_up and slot.peer != "fio" and source == self.source:
            if not filecmp.cmp(source, self.target, shallow=False):
                raise RunError(f"{slot.peer} did not copy what is there")


def figures(used, size):
    """Per GiB, from what the stopwatch says."""
    scale = GIB / size
    cpu = used["user_ns"] + used["system_ns"]
    return {
        "cpu_ns_per_op": cpu * scale,
        "wall_ns_per_op": used["wall_ns"] * scale,
        "user_ns_per_op": used["user_ns"] * scale,
        "system_ns_per_op": used["system_ns"] * scale,
        "rate_mib_per_second": size / (1 << 20) / (used["wall_ns"] / 1e9),
        "cpu_percent": 100 * cpu / used["wall_ns"],
        "context_switches_per_op": used["context_switches"] * scale,
        "page_faults_per_op": used["page_faults"] * scale,
        "peak_mb": used["peak_kib"] / 1024,
    }


def without_refused(slots, how, say):
    """Leaves out the engines that the kernel does not do in a case, with its reason."""
    chosen = []
    for slot in slots:
        reason = how.refusal(slot)
        if reason:
            say(f"left out of {slot.case.name}: {slot.peer}: {reason}")
        else:
            chosen.append(slot)
    return chosen


COLUMNS = (  # head, metric, how a figure is written
    ("MiB/s", "rate_mib_per_second", "{:,.0f}".format),
    ("CPU s/GiB", "cpu_ns_per_op", lambda ns: f"{ns / 1e9:.3f}"),
    ("CPU %", "cpu_percent", "{:.0f}".format),
    ("switches", "context_switches_per_op", "{:,.0f}".format),
    ("faults", "page_faults_per_op", "{:,.0f}".format),
    ("peak MiB", "peak_mb", number),
)


def report(results, size):
    rounds = len(next(iter(results.samples.values())))
    yield f"copy: {results.bench.title}"
    yield f"  Runs of {size / GIB:g} GiB, figures per GiB; medians of {rounds} interleaved rounds."
    for note in results.bench.notes:
        yield f"  {note}"
    for case in results.cases():
        rows = [[f"{case}"] + [head for head, _, _ in COLUMNS] + ["min..max s/GiB"]]
        for peer in results.peers(case):
            wall = results.summary((case, peer), "wall_ns_per_op")
            medians = [text(results.summary((case, peer), metric).median) for _, metric, text in COLUMNS]
            rows.append([peer, *medians, f"{wall.min / 1e9:.3f}..{wall.max / 1e9:.3f}"])
        yield ""
        yield from layout(rows)
