# SPDX-License-Identifier: BSL-1.0
"""Pipes and standard input and output; sources that shrink or grow while somebody slow reads the copy."""
import os
import random
import subprocess

from tool import LIMIT_S, CopyCase, command, engines, run

MiB = 1 << 20
STREAMING = ("auto", "sync", "posix-aio", "uring", "uring-splice")


class Streams(CopyCase):
    def test_standard_input_to_a_file(self):
        data = random.Random(2).randbytes(3 * MiB + 5)
        for engine in engines(*STREAMING):
            with self.subTest(engine=engine):
                self.copies("--engine", engine, "-", self.target, input=data, text=False)
                self.assertEqual(self.target.read_bytes(), data)

    def test_a_file_to_standard_output(self):
        data = self.fill(3 * MiB + 5)
        for engine in engines(*STREAMING, "sendfile"):
            with self.subTest(engine=engine):
                done = self.copies("--engine", engine, "--depth", "4", "--block", "4K", self.source, "-", text=False)
                self.assertEqual(done.stdout, data)

    def test_pipe_to_pipe(self):
        data = random.Random(3).randbytes(MiB + 5)
        for engine in engines(*STREAMING):
            with self.subTest(engine=engine):
                arguments = ("--engine", engine, "--block", "4K", "--depth", "4", "-", "-")
                self.assertEqual(self.copies(*arguments, input=data, text=False).stdout, data)

    def test_each_read_of_a_pipe_is_written_before_the_next_comes(self):
        for engine in engines(*STREAMING):
            with self.subTest(engine=engine), subprocess.Popen(
                command("--engine", engine, "-", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            ) as started:
                for word in (b"one", b"two", b"three"):
                    started.stdin.write(word)
                    self.assertEqual(started.stdout.read(10), word)
                started.stdin.close()
                self.assertEqual(started.wait(LIMIT_S), 0)

    def test_blocks_that_one_call_cannot_count(self):
        for engine in engines("uring-splice"):
            for block in ("4G", "8G"):
                with self.subTest(engine=engine, block=block):
                    arguments = ("--engine", engine, "--block", block, "-", self.target)
                    self.copies(*arguments, input="123456789")
                    self.assertEqual(self.target.read_bytes(), b"123456789")

    def test_a_part_of_a_stream(self):
        for engine in engines(*STREAMING):
            done = self.copies("--engine", engine, "--size", "5", "-", "-", input="123456789")
            self.assertEqual(done.stdout, "12345")

    def test_a_stream_that_ends_too_early(self):
        for engine in engines(*STREAMING):
            says = ("standard input ended after 9 bytes; --size wants 10 bytes", "target was not created")
            self.fails("--engine", engine, "--size", "10", "-", self.target, says=says, input="123456789")
            self.assertEqual(self.names(), [])

    def test_programs_that_share_their_offsets(self):
        data = self.fill(100000)
        for engine in engines():
            with self.subTest(engine=engine):
                with open(self.target, "wb") as out:
                    for _ in range(2):
                        self.copies("--engine", engine, self.source, "-", stdout=out, stderr=None, capture_output=False)
                self.assertEqual(self.target.read_bytes(), data * 2)
                with open(self.source, "rb") as file:
                    for part in (data[:70000], data[70000:]):
                        arguments = ("--engine", engine, "--size", len(part), "-", self.target)
                        self.copies(*arguments, stdin=file)
                        self.assertEqual(self.target.read_bytes(), part)

    def test_appending(self):
        data = self.fill(100000)
        for engine in engines("auto", "sync", "posix-aio", "uring"):  # the kernel appends no splices
            self.target.write_bytes(b"before")
            with open(self.target, "ab") as out:
                self.copies("--engine", engine, "--block", "4K", self.source, "-", stdout=out, stderr=None,
                            capture_output=False)
            self.assertEqual(self.target.read_bytes(), b"before" + data)

    def test_a_reader_that_goes(self):
        self.fill(MiB)
        for engine in engines(*STREAMING, "sendfile"):
            with self.subTest(engine=engine):
                read_end, write_end = os.pipe()
                os.close(read_end)
                with os.fdopen(write_end, "wb") as out:
                    self.fails("--engine", engine, self.source, "-", says="Broken pipe (EPIPE)", stdout=out,
                               stderr=subprocess.PIPE, capture_output=False)

    def test_a_failed_write_does_not_wait_for_more_input(self):
        for engine in engines("auto", "sync", "posix-aio", "uring"):  # there is no splice to /dev/full
            arguments = command("--engine", engine, "-", "/dev/full")
            with self.subTest(engine=engine), subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            ) as started:
                started.stdin.write(b"some")
                self.assertEqual(started.wait(LIMIT_S), 1)  # while its input is open
                self.assertIn(b"ENOSPC", started.stderr.read())

    def test_descriptors_that_somebody_made_non_blocking(self):
        data = self.fill(MiB)
        for engine in engines(*STREAMING, "sendfile"):
            with self.subTest(engine=engine):
                read_end, write_end = os.pipe()
                os.set_blocking(write_end, False)
                with subprocess.Popen(command("--engine", engine, self.source, "-"), stdout=write_end) as started:
                    os.close(write_end)
                    with os.fdopen(read_end, "rb") as file:
                        self.assertEqual(file.read(), data)
                    self.assertEqual(started.wait(LIMIT_S), 0)


class Changes(CopyCase):
    """The target is a pipe that the test reads from, so the copy waits where the test wants it to."""

    def copy_beside(self, engine, change):
        """Copies 4 MiB into a pipe, changes the source when something has come; gives what came, and the run's end."""
        data = self.fill(4 * MiB)
        started = subprocess.Popen(
            command("--engine", engine, "--block", "64K", "--depth", "2", self.source, "-"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with started:
            came = started.stdout.read(65536)
            change()
            came += started.stdout.read()
            said = started.stderr.read().decode()
            return data, came, said, started.wait(LIMIT_S)

    def test_a_source_that_shrinks_is_an_error(self):
        for engine in engines(*STREAMING, "sendfile"):
            with self.subTest(engine=engine):
                data, came, said, status = self.copy_beside(engine, lambda: os.truncate(self.source, 2 * MiB))
                self.assertEqual(status, 1)
                self.assertEqual(came, data[: 2 * MiB])
                self.assertIn("shrank from 4.00 MiB (4194304 bytes) to 2.00 MiB (2097152 bytes)", said)

    def test_of_a_source_that_grows_the_first_part_is_copied(self):
        def grow():
            with open(self.source, "ab") as file:
                file.write(b"more")

        for engine in engines(*STREAMING, "sendfile"):
            with self.subTest(engine=engine):
                data, came, said, status = self.copy_beside(engine, grow)
                self.assertEqual(status, 0)
                self.assertEqual(came, data)
                self.assertIn("grew while it was copied, to 4.00 MiB (4194308 bytes)", said)

    def test_a_source_that_is_written_to_is_told_of(self):
        def change():
            with open(self.source, "r+b") as file:
                file.write(b"other")

        _, _, said, status = self.copy_beside("sync", change)
        self.assertEqual(status, 0)
        self.assertIn("was changed while it was copied", said)


class Fifo(CopyCase):
    def test_a_named_pipe_as_target_and_as_source(self):
        data = self.fill(MiB)
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for engine in engines(*STREAMING):
            reading = command("--engine", engine, pipe, self.target)
            with self.subTest(engine=engine), subprocess.Popen(reading) as reader:
                self.copies("--engine", engine, self.source, pipe)
                self.assertEqual(reader.wait(LIMIT_S), 0)
                self.assertEqual(self.target.read_bytes(), data)
        self.assertEqual(run("--engine", "copy-range", self.source, "-").returncode, 1)
