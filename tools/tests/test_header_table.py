# SPDX-License-Identifier: BSL-1.0
"""header_table.py compares docs/headers.md and the umbrella with the headers."""
import tempfile
import unittest
from pathlib import Path

import header_table

TREE = {
    "README.md": "`<beck/beck.hpp>` includes everything except `beck/http/`, `beck/redis/`, `beck/tls/`,\n"
    "`beck/websocket/`, `beck/interop/` (`std::future`) and `beck/testing/` (x). Other a/b/c.",
    "include/beck/beck.hpp": "// The umbrella: every public header except http/, interop/, redis/, testing/, tls/ and\n"
    "// websocket/. A file\n#include <beck/io/a.hpp>\n",
    "include/beck/io/a.hpp": "class one; // two\n",
    "include/beck/detail/b.hpp": "class hidden;\n",
    "include/beck/testing/c.hpp": "class three;\n",
    "api_names.txt": "beck::one\nbeck::one::part\n",
    "docs/headers.md": "| `beck/io/a.hpp` | `one` | x |\n| `beck/testing/c.hpp` | `testing::three` | y |\n",
}


class Table(unittest.TestCase):
    def complaints(self, **changes):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**TREE, **changes}.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return [line.partition("headers: ")[2] for line in header_table.check(Path(folder))]

    def test_a_table_that_fits(self):
        self.assertEqual([], self.complaints())

    def test_each_header_has_one_row(self):
        self.assertEqual(
            ["<beck/net/d.hpp> has 0 rows", "the umbrella does not include <beck/net/d.hpp>"],
            self.complaints(**{"include/beck/net/d.hpp": "int four;\n"}),
        )
        self.assertEqual(
            ["<beck/io/a.hpp> has 2 rows", "<beck/io/gone.hpp> has 1 rows"],
            self.complaints(
                **{"docs/headers.md": TREE["docs/headers.md"] + "| `beck/io/a.hpp` | | |\n| `beck/io/gone.hpp` | | |\n"}
            ),
        )

    def test_names_are_where_the_table_says(self):
        table = TREE["docs/headers.md"].replace("`one`", "`one`, `two`")
        self.assertEqual(["<beck/io/a.hpp> does not declare two"], self.complaints(**{"docs/headers.md": table}))
        self.assertEqual(["no row has beck::five"], self.complaints(**{"api_names.txt": "beck::one\nbeck::five\n"}))

    def test_the_umbrella_leaves_out_what_is_opt_in(self):
        umbrella = TREE["include/beck/beck.hpp"] + "#include <beck/testing/c.hpp>\n"
        found = self.complaints(**{"include/beck/beck.hpp": umbrella})
        self.assertEqual(["the umbrella must not include <beck/testing/c.hpp>"], found)

    def test_readme_and_umbrella_say_what_is_left_out(self):
        readme = TREE["README.md"].replace("`beck/tls/`,", "`beck/net/`,")
        expected = [
            "the sentence about <beck/beck.hpp> leaves out net/",
            "the sentence about <beck/beck.hpp> does not leave out tls/",
        ]
        self.assertEqual(expected, self.complaints(**{"README.md": readme}))
        umbrella = TREE["include/beck/beck.hpp"].replace("redis/, ", "")
        expected = ["the sentence about <beck/beck.hpp> does not leave out redis/"]
        self.assertEqual(expected, self.complaints(**{"include/beck/beck.hpp": umbrella}))


if __name__ == "__main__":
    unittest.main()
