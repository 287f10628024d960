# SPDX-License-Identifier: BSL-1.0
"""The steps of bootstrap.sh, in two lanes: a signal ends all of them, and a lane that dies is a failed step."""
import contextlib
import os
import select
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

BOOTSTRAP = Path(__file__).parents[1] / "bootstrap.sh"
SECONDS_MAX = 20


def living(session):
    """The processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, functions, script):
        """Runs a script behind begin_steps and begin_beside, in a session of its own."""
        text = f"set -euo pipefail\nsource {BOOTSTRAP}\n{functions}\nbegin_steps\nbegin_beside\n{script}\n"
        # Each process holds an end of this pipe as long as it lives.
        self.lifeline, held = os.pipe()
        self.addCleanup(os.close, self.lifeline)
        started = subprocess.Popen(["bash", "-c", text], cwd=self.folder, stdout=subprocess.PIPE, bufsize=0,
                                   pass_fds=[held], start_new_session=True)
        os.close(held)
        self.addCleanup(self.end, started)
        return started

    @staticmethod
    def end(started):
        for process in living(started.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        started.stdout.close()
        started.wait()

    def read_some(self, descriptor, count):
        if not select.select([descriptor], [], [], SECONDS_MAX)[0]:
            self.fail("nothing more is printed, and some process has not ended")
        return os.read(descriptor, count)

    def printed(self, started, lines=None):
        """What it prints: so many lines, or all until every process has ended."""
        text = b""
        while lines is None or text.count(b"\n") < lines:
            part = self.read_some(started.stdout.fileno(), 4096)
            if not part:
                break
            text += part
        if lines is None:
            self.assertEqual(b"", self.read_some(self.lifeline, 1))
        return text.decode()

    def recorded(self):
        return (self.folder / "build/reports/steps.tsv").read_text().splitlines()

    def test_each_signal_ends_the_steps_of_both_lanes(self):
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            with self.subTest(signal=one.name):
                run = self.start("late() { step beside late sleep 1000; }", "beside late\nstep first late sleep 1000")
                begun = self.printed(run, lines=2)
                self.assertEqual(["beside", "first"], sorted(line.split()[0] for line in begun.splitlines()))
                run.send_signal(one)
                self.printed(run)
                self.assertEqual(130, run.wait(SECONDS_MAX))

    def test_a_lane_that_dies_is_a_failed_step(self):
        run = self.start("die() { exit 7; }\nnone() { :; }",
                         "beside die\nwhile kill -0 $beside_pid 2>/dev/null; do :; done\nbeside none\n"
                         "step first good true\nend_beside\nstep first last false || echo ended")
        self.assertIn("ended", self.printed(run))
        self.assertEqual(0, run.wait(SECONDS_MAX))
        self.assertEqual(["first\tgood\t0", "all\tbeside\t7", "first\tlast\t1"], self.recorded())

    def test_the_calls_of_a_lane_run_in_order(self):
        run = self.start("one() { step beside $1 test ! -e b && touch $1; }",
                         "beside one a\nbeside one b\nstep first good true\nend_beside")
        self.printed(run)
        self.assertEqual(["beside\ta\t0", "beside\tb\t0", "first\tgood\t0"], sorted(self.recorded()))


class Descriptors(unittest.TestCase):
    def test_those_of_the_caller_stay_as_they_are(self):
        """flock(1), for one, leaves its lock open as 3: progress must not go there, and the lock must not be closed."""
        with tempfile.TemporaryDirectory() as folder:
            for shell in ("exec 3>held 4<held", "exec 3<&- 4<&-"):
                script = f"set -euo pipefail\n{shell}\nsource {BOOTSTRAP}\nbegin_steps\n"
                script += "one() { step beside one true; }\nbegin_beside\nbeside one\nstep first two true\nend_beside\n"
                script += "readlink /proc/self/fd/3 /proc/self/fd/4 || true"
                done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
                self.assertEqual("", done.stderr)
                self.assertEqual(2, done.stdout.count(" ok "), done.stdout)
                kept = Path(folder, "held").stat().st_size if "held" in shell else 0
                self.assertEqual(0, kept)
                self.assertEqual(2 if "held" in shell else 0, done.stdout.count("/held"), done.stdout)


if __name__ == "__main__":
    unittest.main()
