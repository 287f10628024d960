# SPDX-License-Identifier: BSL-1.0
"""What users of cp expect: files of procfs and sysfs, names that stand for descriptors, streams that are closed or
full, targets that nothing can replace, names with control characters."""
import os
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from tool import LIMIT_S, NOBODY, CopyCase, command, engines, run, traced

GENERATED = ("/proc/version", "/proc/sys/kernel/ostype", "/sys/kernel/mm/transparent_hugepage/enabled",
             "/sys/class/net/lo/mtu")


def shell(script, *arguments, **how):
    """Runs a line of bash in which "$@" is the tool with these arguments."""
    how = {"capture_output": True, "text": True, "timeout": LIMIT_S} | how
    return subprocess.run(["bash", "-c", script, "bash", *command(*arguments)], **how)


class Generated(CopyCase):
    def sources(self):
        return [Path(path) for path in GENERATED if os.access(path, os.R_OK)]

    def test_files_whose_size_is_not_their_length_are_copied_whole_or_refused(self):
        for source in self.sources():
            text = source.read_bytes()
            for engine in engines():
                with self.subTest(source=source, engine=engine):
                    self.target.unlink(missing_ok=True)
                    done = run("--engine", engine, source, self.target)
                    if engine in ("auto", "sync", "posix-aio", "uring"):
                        self.assertEqual(done.returncode, 0, done.stderr)
                    if done.returncode == 0:
                        self.assertEqual(self.target.read_bytes(), text)
                    else:
                        self.assertNotIn("shrank", done.stderr)
                        self.assertEqual(self.names(), [])

    def test_they_are_copied_to_streams_and_compared(self):
        for source in self.sources():
            with self.subTest(source=source):
                self.assertEqual(self.copies(source, "-").stdout, source.read_text())
                self.copies("--verify", source, self.target)

    def test_a_size_that_they_do_not_have(self):
        for source in self.sources():
            length = len(source.read_bytes())
            with self.subTest(source=source):
                says = f"{source} ended after {length} bytes; --size wants {length + 1} bytes"
                self.fails("--size", length + 1, source, self.target, says=says)
                self.copies("--size", length, source, self.target)
                self.assertEqual(self.target.read_bytes(), source.read_bytes())

    @unittest.skipUnless(os.access("/proc/self/coredump_filter", os.W_OK), "procfs is not writable here")
    def test_a_file_of_procfs_is_a_target(self):
        self.source.write_text("0x35\n")
        before = Path("/proc/self/coredump_filter").read_text()
        self.addCleanup(Path("/proc/self/coredump_filter").write_text, "0x" + before)
        self.copies(self.source, f"/proc/{os.getpid()}/coredump_filter")
        self.assertEqual(Path("/proc/self/coredump_filter").read_text().strip(), "00000035")


class Descriptors(CopyCase):
    def test_names_of_standard_output(self):
        data = self.fill(300_000)
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            with self.subTest(name=name):
                self.assertEqual(self.copies(self.source, name, text=False).stdout, data)

    def test_what_is_there_already_stays(self):
        self.source.write_text("copy\n")
        for name in ("-", "/dev/stdout", "/dev/fd/1"):
            for arrow in (">", ">>"):
                with self.subTest(name=name, arrow=arrow):
                    self.target.write_text("")
                    script = f'{{ echo before; "$@"; echo behind; }} {arrow}{self.target}'
                    done = shell(script, self.source, name)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(self.target.read_text(), "before\ncopy\nbehind\n")

    def test_a_process_that_a_shell_has_started(self):
        self.source.write_text("copy\n")
        script = f'"$@" >(cat >{self.target}); status=$?; wait $!; exit $status'
        done = shell(script, self.source)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.target.read_text(), "copy\n")

    def test_a_descriptor_that_is_not_open_or_cannot_be_written(self):
        self.source.write_text("copy\n")
        self.fails(self.source, "/dev/fd/99", says="/dev/fd/99: Bad file descriptor (EBADF)")
        with open(os.devnull, "rb") as file:
            says = "/dev/fd/0: Bad file descriptor (EBADF)"
            self.fails(self.source, "/dev/fd/0", says=says, stdin=file)

    def test_the_report_is_not_mixed_with_the_copy(self):
        self.source.write_text("copy\n")
        for name in ("-", "/dev/stdout", "/dev/fd/1"):
            done = self.copies("--json", self.source, name)
            self.assertEqual(done.stdout, "copy\n")
            self.assertIn('"bytes": 5', done.stderr)

    def test_a_file_without_a_name_is_written_by_its_link(self):
        self.source.write_text("copy\n")
        with tempfile.TemporaryFile(dir=self.folder) as file:
            file.write(b"x" * 100)
            file.flush()
            self.copies(self.source, f"/proc/{os.getpid()}/fd/{file.fileno()}")
            file.seek(0)
            self.assertEqual(file.read(), b"copy\n")


class Streams012(CopyCase):
    """Standard streams that are closed, or full."""

    def test_messages_that_nobody_can_read(self):
        self.source.write_text("copy\n")
        for to in ("2>&-", "2>/dev/full"):
            with self.subTest(to=to):
                self.assertEqual(shell(f'"$@" {to}', self.folder / "missing", self.target).returncode, 1)
                self.assertEqual(shell(f'"$@" {to}', "--engine", "magic", "a", "b").returncode, 2)
                self.assertEqual(shell(f'"$@" {to}', "--size", "x", "a", "b").returncode, 2)
                self.assertEqual(shell(f'"$@" {to}', "-v", self.source, self.target).returncode, 0)
                self.assertEqual(self.target.read_text(), "copy\n")
                self.assertEqual(self.source.read_text(), "copy\n")

    def test_results_that_nobody_can_read_are_an_error(self):
        self.source.write_text("copy\n")
        for to, why in ((">&-", "EBADF"), (">/dev/full", "ENOSPC")):
            for words in (("--json", self.source, self.target), ("--help",), ("--version",), (self.source, "-"),
                          (self.source, "/dev/stdout")):
                with self.subTest(to=to, words=words):
                    done = shell(f'"$@" {to}', *words)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(why, done.stderr)
        self.assertEqual(shell('"$@" 2>/dev/full', "--json", self.source, "-").returncode, 1)

    def test_a_closed_stream_is_not_taken_by_a_file(self):
        for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            with self.subTest(closed=closed):
                data = self.fill(200_000)
                self.assertEqual(shell(f'"$@" {closed}', "-v", self.source, self.target).returncode, 0)
                self.assertEqual(self.target.read_bytes(), data)
                self.assertEqual(self.source.read_bytes(), data)
        done = shell('"$@" 0<&-', "-", self.target)
        self.assertEqual(done.returncode, 1)
        self.assertIn("EBADF", done.stderr)


class Replacing(CopyCase):
    def test_a_mount_point_is_written_in_place(self):
        data = self.fill(1000)
        self.target.write_bytes(b"old")
        under = self.folder / "under"
        under.write_bytes(b"x" * 5000)
        mounted = subprocess.run(["mount", "--bind", under, self.target], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", self.target], check=True)
        for more in ((), ("--verify",)):
            done = self.copies(*more, self.source, self.target)
            self.assertIn("was written in place: it is a mount point", done.stderr)
            self.assertEqual(under.read_bytes(), data)
        self.assertEqual(self.names(), ["source", "target", "under"])

    @unittest.skipUnless(os.getuid() == 0, "becomes another user, so it needs root")
    def test_a_file_of_another_user_in_a_sticky_folder_is_written_in_place(self):
        data = self.fill(1000)
        self.source.chmod(0o644)
        self.folder.chmod(0o1777)
        self.target.write_bytes(b"old")
        self.target.chmod(0o666)
        done = run(self.source, self.target, user=NOBODY)
        if "Permission denied" in done.stderr:
            self.skipTest("the kernel protects files in sticky folders, or other users reach nothing")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("was written in place: its folder lets only its owner replace it", done.stderr)
        self.assertEqual(self.target.read_bytes(), data)

    def test_where_linkat_is_refused_the_copy_has_a_name_from_the_start(self):
        data = self.fill(1000)
        for before in (None, b"old"):
            for error in ("EPERM", "ENOSYS"):
                with self.subTest(before=before, error=error):
                    self.target.unlink(missing_ok=True)
                    if before is not None:
                        self.target.write_bytes(before)
                    done, calls = traced(self.source, self.target, inject=(f"linkat:error={error}",))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(self.target.read_bytes(), data)
                    self.assertEqual(len(calls.on(f"{self.folder}/.target.beck-copy-", "pwrite64", "write")), 1)
                    self.assertEqual(self.names(), ["source", "target"])

    def test_a_new_file_obeys_the_umask(self):
        self.fill(10)
        self.source.chmod(0o755)
        for mask, mode in ((0o077, 0o700), (0o027, 0o750), (0, 0o755)):
            self.target.unlink(missing_ok=True)
            self.copies(self.source, self.target, umask=mask)
            self.assertEqual(stat.S_IMODE(self.target.stat().st_mode), mode)


class Names(CopyCase):
    def test_control_characters_of_names_are_escaped_in_messages(self):
        name = "a\x1b[31m\r\nb\tc\x7f\u009bd"
        shown = r"a\x1b[31m\x0d\nb\tc\x7f\u009bd"
        done = self.fails(self.folder / name, self.target, says=f"{self.folder}/{shown}: No such file")
        self.assertEqual(done.stderr.count("\n"), 1)
        done = self.fails("--size", name, "a", "b", says=shown, status=2)
        self.fill(10, self.folder / name)
        done = self.fails(self.folder / name, self.folder, says="is a directory")
        self.assertNotIn("\x1b", done.stderr)
        umlaut = "\u00e4\u20ac"
        self.fails(self.folder / umlaut, self.target, says=umlaut)
