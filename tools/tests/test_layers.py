# SPDX-License-Identifier: BSL-1.0
"""layers.py objects to includes that go up or sideways, and to nothing else."""
import tempfile
import unittest
from pathlib import Path

import layers


def complaint(path, include):
    match = layers.INCLUDE.match(f"#include {include}")
    return layers.check_include(Path(path), match[1], match[2])


class Includes(unittest.TestCase):
    def objects(self, path, include, text):
        self.assertIn(text, complaint(path, include) or "nothing")

    def accepts(self, path, include):
        self.assertIsNone(complaint(path, include))

    def test_downwards_is_allowed(self):
        self.accepts("include/beck/net/tcp.hpp", "<beck/io/io_context.hpp>")
        self.accepts("include/beck/net/tcp.hpp", "<beck/net/ip.hpp>")
        self.accepts("include/beck/interop/asio.hpp", "<beck/redis/client.hpp>")
        self.accepts("include/beck/http/server.hpp", "<beck/transfer/transmit.hpp>")
        self.accepts("include/beck/beck.hpp", "<beck/net/tcp.hpp>")
        self.accepts("src/net/tcp.cpp", '"io/driver/driver.hpp"')
        self.accepts("src/net/tcp.cpp", "<sys/socket.h>")

    def test_upwards_is_not(self):
        self.objects("include/beck/base/a.hpp", "<beck/run/b.hpp>", "base/ stands below run/")
        self.objects("include/beck/io/a.hpp", "<beck/net/b.hpp>", "io/ stands below net/")
        self.objects("include/beck/transfer/a.hpp", "<beck/http/b.hpp>", "transfer/ stands below http/")
        self.objects("include/beck/detail/waiter.hpp", "<beck/io/b.hpp>", "coro/ stands below io/")
        self.objects("include/beck/run/b.hpp", "<beck/detail/waiter.hpp>", "run/ stands below coro/")
        self.objects("include/beck/detail/a.hpp", "<beck/io/b.hpp>", "does not list")
        self.objects("src/coro/a.cpp", '"io/driver/driver.hpp"', "coro/ stands below io/")
        self.objects("src/io/sim/a.cpp", '"testing/world.hpp"', "io/ stands below testing/")

    def test_siblings_are_not(self):
        self.objects("include/beck/net/a.hpp", "<beck/file/b.hpp>", "siblings")
        self.objects("src/http/a.cpp", "<beck/redis/b.hpp>", "siblings")

    def test_public_headers_never_include_private_ones(self):
        self.objects("include/beck/io/a.hpp", '"io/driver/driver.hpp"', "a public header")
        self.objects("include/beck/io/a.hpp", '"b.hpp"', "a public header")

    def test_drivers_never_see_one_another(self):
        self.objects("src/io/epoll/a.cpp", '"io/uring/ring.hpp"', "drivers never")
        self.objects("src/io/loop/io_context.cpp", '"io/epoll/driver.hpp"', "only src/io/driver/backend_select.cpp")
        self.objects("src/net/a.cpp", '"io/sim/driver.hpp"', "only src/io/driver/backend_select.cpp")
        self.accepts("src/io/driver/backend_select.cpp", '"io/epoll/driver.hpp"')
        self.accepts("src/io/epoll/a.cpp", '"io/epoll/b.hpp"')
        self.accepts("src/testing/world.cpp", '"io/sim/sim_driver.hpp"')

    def test_rooms_of_io(self):
        self.accepts("src/io/op/a.cpp", '"io/loop/io_loop.hpp"')
        self.objects("src/io/op/a.hpp", '"io/loop/io_loop.hpp"', "headers of io/op/ must not include io/loop/")
        self.objects("src/io/system/a.cpp", '"io/loop/io_loop.hpp"', "io/system/ must not include io/loop/")
        self.objects("src/io/epoll/a.cpp", '"io/shared/idle_threads.hpp"', "io/epoll/ must not include io/shared/")
        self.objects("src/io/a.cpp", '"io/loop/io_loop.hpp"', "lies in no room")
        self.objects("src/io/attic/a.cpp", '"io/loop/io_loop.hpp"', "lies in no room")
        self.accepts("src/net/a.cpp", '"io/loop/io_loop.hpp"')

    def test_members_are_defined_in_the_layer_of_their_class(self):
        header = {Path("include/beck/io/stream.hpp"): "class stream : base {\n  int available();\n};\n"}
        body = "int stream::available() { return 0; }\n"
        self.assertEqual([], list(layers.check_members({**header, Path("src/io/objects/a.cpp"): body})))
        found = list(layers.check_members({**header, Path("src/net/a.cpp"): "\n" + body}))
        self.assertEqual(["src/net/a.cpp:2: a member of stream belongs in io/"], found)
        for harmless in ("other::operator stream::part() const {}\n", "  stream::available();\n"):
            self.assertEqual([], list(layers.check_members({**header, Path("src/net/a.cpp"): harmless})))
        split = {Path("src/io/op/a.hpp"): "class detail::stream {\n};\n"}
        self.assertEqual(1, len(list(layers.check_members({**split, Path("src/net/a.cpp"): body}))))

    def test_free_functions_are_defined_where_they_are_declared(self):
        header = {Path("src/io/op/a.hpp"): "[[nodiscard]] inline int size_of(const part& p) noexcept;\nvoid send();\n"}
        own = {Path("src/io/op/a.cpp"): "void send() {\n}\n"}
        self.assertEqual([], list(layers.check_functions(header | own)))
        other = {Path("src/io/uring/b.cpp"): "\nvoid send() {\n}\n"}
        self.assertEqual(
            ["src/io/uring/b.cpp:2: send() is declared in io/op/"], list(layers.check_functions(header | other))
        )
        hidden = "namespace {\nvoid send() {\n  if (true) {\n  }\n}\n}\n"
        member, local = "void sender::send() {\n}\n", "static void send() {\n}\n"
        for harmless in (hidden, member, local, "  send();\n", "void send();\n"):
            self.assertEqual([], list(layers.check_functions(header | {Path("src/io/uring/b.cpp"): harmless})))
        public = {Path("include/beck/io/a.hpp"): "void send() noexcept;\n"}
        self.assertEqual([], list(layers.check_functions(public | other)))
        self.assertEqual(1, len(list(layers.check_functions(public | {Path("src/net/b.cpp"): "void send() {\n}\n"}))))

    def test_protocols_use_the_seam_alone(self):
        inside = "beck::detail::intrusive_list<a> l;\nhttp::detail::connection c;\n"
        self.assertEqual([], list(layers.check_seam(Path("src/http/a.cpp"), inside)))
        found = list(layers.check_seam(Path("include/beck/redis/a.hpp"), "\nbeck::detail::descriptor d;\n"))
        self.assertEqual(
            ["include/beck/redis/a.hpp:2: beck::detail::descriptor is not for protocols (see SEAM)"], found
        )
        self.assertEqual([], list(layers.check_seam(Path("src/net/a.cpp"), "beck::detail::descriptor d;")))
        for refused in ("io/op/descriptor.hpp", "coro/join.hpp", "net/socket_calls.hpp", "transfer/a.hpp"):
            found = layers.check_protocol_include(Path("src/tls/a.cpp"), '"', refused)
            self.assertIn("a protocol includes no private header", found or "nothing")
        for header in ("http/connection.hpp", "base/counter.hpp", "coro/task_completion.hpp"):
            self.assertIsNone(layers.check_protocol_include(Path("src/websocket/a.cpp"), '"', header))
        self.assertIsNone(layers.check_protocol_include(Path("src/http/a.cpp"), "<", "beck/io/byte_stream.hpp"))
        self.assertIsNone(layers.check_protocol_include(Path("src/net/a.cpp"), '"', "io/op/descriptor.hpp"))

    def test_unknown_folders_and_odd_names(self):
        self.objects("src/io/a.cpp", '"util/b.hpp"', "no layer")
        self.objects("src/util/a.cpp", "<beck/base/b.hpp>", "no layer")
        self.objects("src/io/a.cpp", '"driver.hpp"', "named from src/")
        self.objects("include/beck/io/a.hpp", "<beck/beck.hpp>", "umbrella")
        self.objects("include/beck/beck.hpp", "<beck/interop/a.hpp>", "opt-in")

    def test_a_complaint_names_file_and_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "include/beck/base/a.hpp")
            path.parent.mkdir(parents=True)
            path.write_text("// x\n#include <beck/io/b.hpp>\n")
            expected = "include/beck/base/a.hpp:2: base/ stands below io/ and must not include it"
            self.assertEqual(list(layers.check(Path(folder))), [expected])


if __name__ == "__main__":
    unittest.main()
