# SPDX-License-Identifier: BSL-1.0
"""Files over HTTP from beck-serve: contents, conditions, ranges, folders, paths that must not be served."""
import errno
import gzip
import os
import random
import shutil
import socket
import stat
import threading
from pathlib import Path

import server as tool
from server import ServeCase, read_body, read_head, refusing


class Files(ServeCase):
    def test_a_file_is_sent_whole_with_its_fields(self):
        data = random.Random(1).randbytes(3_000_000)
        self.write("a/movie.mp4", data)
        self.write("empty.txt", "")
        server = self.serve()
        response = server.ask("/a/movie.mp4")
        self.assertEqual((response.status, response["Content-Type"]), (200, "video/mp4"))
        self.assertEqual(response.body, data)
        self.assertEqual(server.ask("/empty.txt").body, b"")
        head = server.ask("/a/movie.mp4", "HEAD")
        self.assertEqual(head["Content-Length"], "3000000")
        self.assertEqual(head["ETag"], response["ETag"])

    def test_conditions(self):
        self.write("a", "text")
        server = self.serve("--cache-control", "max-age=60")
        first = server.ask("/a")
        self.assertEqual(first["Cache-Control"], "max-age=60")
        same = server.ask("/a", If_None_Match=first["ETag"])
        self.assertEqual((same.status, same.body, same["ETag"]), (304, b"", first["ETag"]))
        self.assertEqual(server.ask("/a", If_Modified_Since=first["Last-Modified"]).status, 304)
        self.assertEqual(server.ask("/a", If_Match='"other"').status, 412)
        self.write("a", "changed")
        self.assertEqual(server.ask("/a", If_None_Match=first["ETag"]).body, b"changed")

    def test_ranges(self):
        data = random.Random(2).randbytes(100_000)
        self.write("a", data)
        server = self.serve()
        tag = server.ask("/a")["ETag"]
        part = server.ask("/a", Range="bytes=1000-1999", If_Range=tag)
        self.assertEqual((part.status, part.body), (206, data[1000:2000]))
        self.assertEqual(part["Content-Range"], "bytes 1000-1999/100000")
        self.assertEqual(server.ask("/a", Range="bytes=-10").body, data[-10:])
        self.assertEqual(server.ask("/a", Range="bytes=0-1", If_Range='"x"').status, 200)
        none = server.ask("/a", Range="bytes=100000-")
        self.assertEqual((none.status, none["Content-Range"]), (416, "bytes */100000"))
        many = server.ask("/a", Range="bytes=0-9,50000-59999")
        boundary = many["Content-Type"].split("boundary=")[1].encode()
        parts = many.body.split(b"\r\n--" + boundary if many.body[:1] == b"\r" else b"--" + boundary)
        self.assertEqual(len(parts), 4)
        self.assertIn(data[50000:60000], parts[2])

    def test_a_download_goes_on_where_it_stopped(self):
        data = random.Random(3).randbytes(2_000_000)
        self.write("a", data)
        server = self.serve()
        got, tag = b"", server.ask("/a", "HEAD")["ETag"]
        while len(got) < len(data):
            end = min(len(got) + 700_000, len(data)) - 1
            response = server.ask("/a", Range=f"bytes={len(got)}-{end}", If_Range=tag)
            self.assertEqual(response.status, 206)
            got += response.body
        self.assertEqual(got, data)

    def test_folders_have_an_index_or_a_slash_or_nothing(self):
        self.write("index.html", "root")
        self.write("sub/start.html", "sub")
        server = self.serve()
        self.assertEqual(server.ask("/").body, b"root")
        moved = server.ask("/sub?a=b")
        self.assertEqual((moved.status, moved["Location"]), (301, "/sub/?a=b"))
        self.assertEqual(server.ask("/sub/").status, 404)
        other = self.serve("--index", "start.html")
        self.assertEqual(other.ask("/sub/").body, b"sub")
        self.assertEqual(other.ask("/").status, 404)

    def test_a_listing_is_off_by_default_and_escapes_names(self):
        self.write("<b>&.txt", "x" * 2048)
        self.write("sub/x", "x")
        self.write(".hidden", "x")
        self.assertEqual(self.serve().ask("/").status, 404)
        server = self.serve("--listing")
        page = server.ask("/")
        self.assertEqual(page["Content-Type"], "text/html; charset=utf-8")
        text = page.body.decode()
        self.assertIn('<a href="sub/">sub/</a>', text)
        self.assertIn('<a href="%3Cb%3E%26.txt">&lt;b&gt;&amp;.txt</a>', text)
        self.assertIn("2.0 KiB", text)
        self.assertNotIn("hidden", text)
        self.assertNotIn("<script", text)
        self.assertEqual(server.ask("/%3Cb%3E%26.txt").status, 200)
        self.assertEqual(server.ask("/", "HEAD").status, 200)

    def test_compressed_forms(self):
        text = b"body { margin: 0 }\n" * 100
        self.write("a.css", text)
        self.write("a.css.gz", gzip.compress(text))
        server = self.serve("--precompressed", "br,gzip")
        packed = server.ask("/a.css", Accept_Encoding="br, gzip")
        self.assertEqual((packed["Content-Encoding"], packed["Vary"]), ("gzip", "Accept-Encoding"))
        self.assertEqual(gzip.decompress(packed.body), text)
        plain = server.ask("/a.css")
        self.assertEqual((plain["Content-Encoding"], plain["Vary"]), (None, "Accept-Encoding"))
        self.assertEqual(plain.body, text)

    def test_types_of_ones_own(self):
        self.write("a.md", "x")
        server = self.serve("--type", "md=text/plain; charset=utf-8")
        self.assertEqual(server.ask("/a.md")["Content-Type"], "text/plain; charset=utf-8")


class Attacks(ServeCase):
    SECRET = b"secret"

    def setUp(self):
        super().setUp()
        (self.folder / "secret.txt").write_bytes(self.SECRET)
        self.write("a.txt", "a")
        self.write(".env", self.SECRET)
        (self.site / "out").symlink_to(self.folder / "secret.txt")
        (self.site / "up").symlink_to("..")
        (self.site / "top").symlink_to("/")
        os.mkfifo(self.site / "pipe")

    def test_nothing_outside_is_reached(self):
        server = self.serve("--listing")
        dots = ["..", "%2e%2e", ".%2e", "%2E.", "..%00", "%252e%252e", "..;", "%c0%ae%c0%ae", "....//.."]
        slashes = ["/", "%2f", "%5c", "\\", "//", "%c0%af"]
        paths = ["/" + d + s + t for d in dots for s in slashes for t in ("secret.txt", "../secret.txt")]
        paths += ["/a.txt" + p for p in paths]
        paths += ["/out", "/up/secret.txt", "/top/etc/passwd", "/.env", "/%2eenv", "/a.txt%00.html"]
        paths += ["/up/", "/top/", "/pipe", "/pipe/"]
        paths += [f"//{self.folder}/secret.txt", f"{self.folder}/secret.txt", "/proc/self/environ"]
        for path in paths:
            response = server.talk(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
            self.assertRegex(response, rb"^HTTP/1\.1 40[04] ", path)
            self.assertNotIn(self.SECRET, response)
        self.assertEqual(server.ask("/a.txt").body, b"a")

    def test_a_file_without_permission_is_403(self):
        if os.geteuid() != 0:
            os.chmod(self.site / "a.txt", 0)
            self.assertEqual(self.serve().ask("/a.txt").status, 403)
            return
        if not os.stat("/").st_mode & stat.S_IXOTH:
            self.skipTest("here other users reach nothing at all")
        os.chmod(self.site / "a.txt", 0o600)
        os.chmod(self.folder, 0o755)
        original, tool.program = tool.program, Path(shutil.copy(tool.program, self.folder))
        try:
            self.assertEqual(self.serve(user="nobody", group="nogroup").ask("/a.txt").status, 403)
        finally:
            tool.program = original

    def test_uploads_are_refused_and_framed(self):
        server = self.serve()
        chunks = b"POST /a.txt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        last = b"GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        with server.connect() as connection:
            connection.sendall(chunks + last)
            with connection.makefile("rb") as stream:
                refused = read_body(stream, read_head(stream))
                self.assertEqual((refused.status, refused["Allow"]), (405, "GET, HEAD, OPTIONS"))
                self.assertEqual(read_body(stream, read_head(stream)).body, b"a")
        bad = chunks.replace(b"5\r\nhello", b"5x\r\nhello")
        self.assertEqual(server.talk(bad + last).count(b"HTTP/1.1 "), 1)
        both = chunks.replace(b"Transfer", b"Content-Length: 5\r\nTransfer")
        self.assertRegex(server.talk(both + last), rb"^HTTP/1\.1 400 (?!.*HTTP/1\.1)(?s:.*)$")
        large = b"PUT /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n"
        self.assertRegex(server.talk(large), rb"^HTTP/1\.1 413 ")
        self.assertEqual((self.site / "a.txt").read_bytes(), b"a")

    def test_no_100_is_sent_for_a_body_that_is_refused(self):
        response = self.serve().talk(
            b"PUT /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        )
        self.assertRegex(response, rb"^HTTP/1\.1 405 ")

    def test_limits_of_heads(self):
        server = self.serve("--limit", "head_bytes=4K", "--limit", "target_bytes=1000", "--limit", "fields=20")
        line = "GET /a.txt HTTP/1.1\r\nHost: a\r\n"

        def status(text):
            return int(server.talk(text.encode())[9:12])

        self.assertEqual(status(line + "A: " + "b" * 5000 + "\r\n\r\n"), 431)
        self.assertEqual(status(line + "A: b\r\n" * 30 + "\r\n"), 431)
        self.assertEqual(status(f"GET /{'a' * 1001} HTTP/1.1\r\nHost: a\r\n\r\n"), 414)
        self.assertEqual(status("GET /a.txt HTTP/1.1\r\n\r\n"), 400)
        self.assertEqual(status("GET  /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"), 400)
        self.assertEqual(status("GET /a.txt HTTP/2.0\r\nHost: a\r\n\r\n"), 505)
        self.assertEqual(status("TRACE /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"), 405)

    def test_a_slow_head_is_408(self):
        server = self.serve("--limit", "head_timeout=200ms")
        self.assertRegex(server.talk(b"GET /a.txt HTTP/1.1\r\nHo"), rb"^HTTP/1\.1 408 ")

    def test_an_idle_connection_is_closed(self):
        self.assertEqual(self.serve("--limit", "idle_timeout=200ms").talk(b""), b"")


class Load(ServeCase):
    def test_many_connections_on_several_workers(self):
        data = random.Random(4).randbytes(50_000)
        self.write("a", data)
        server = self.serve("--workers", 3)
        wrong = []

        def work():
            with server.connect() as connection, connection.makefile("rb") as stream:
                for _ in range(20):
                    connection.sendall(b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
                    if read_body(stream, read_head(stream)).body != data:
                        wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(40)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(wrong, [])

    def test_peers_that_do_not_read_hold_up_nobody(self):
        self.write("large", bytes(20_000_000))
        self.write("a", "a")
        server = self.serve("--workers", 1)
        stalled = []
        for _ in range(50):
            connection = socket.create_connection(server.address)
            self.addCleanup(connection.close)
            connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            stalled.append(connection)
        self.assertEqual(server.ask("/a").body, b"a")


class OldKernel(ServeCase):
    def test_without_openat2_files_are_served_and_nothing_outside(self):
        openat2 = 437
        self.write("a", "file a")
        self.write("sub/b", "file b")
        (self.folder / "secret").write_text("secret")
        (self.site / "near").symlink_to("sub/b")
        (self.site / "far").symlink_to("../secret")
        (self.site / "absolute").symlink_to(self.folder / "secret")
        for error in (errno.ENOSYS, errno.EPERM):
            server = self.serve("--listing", preexec_fn=refusing(openat2, error))
            for path, status, body in (("/a", 200, b"file a"), ("/sub/b", 200, b"file b"), ("/near", 200, b"file b"),
                                       ("/far", 404, None), ("/absolute", 404, None), ("/nothing", 404, None)):
                with self.subTest(error=error, path=path):
                    response = server.ask(path)
                    self.assertEqual(response.status, status)
                    if body is not None:
                        self.assertEqual(response.body, body)
            self.assertIn(b"sub/", server.ask("/").body)
            self.assertEqual(server.stop(), 0)
