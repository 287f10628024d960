# SPDX-License-Identifier: BSL-1.0
"""api_names.py lists what a user can write, and nothing that a user cannot."""
import shutil
import tempfile
import unittest
from pathlib import Path

import api_names

HEADER = """\
#define BECK_TWICE(x) (2 * (x))
namespace beck {
class hidden;
class socket {
 public:
  explicit socket(int);
  ~socket();
  bool operator==(const socket&) const;
  void close();
  template <class T> void send(const T&);
  class options { public: int size = 0; private: int secret; };
  enum wait_type { wait_read };
 private:
  void helper();
};
template <class T> struct result;
template <> struct result<int> { int specialised; };
template <class T> struct result<T*> { using value_type = T; };
inline namespace literals { int operator""_x(unsigned long long); }
namespace ip { enum class family { v4, v6 }; using number = int; }
template <class T> concept stream = requires(T& t) { t.close(); };
inline constexpr int limit = 3;
namespace detail { struct internal { int part; }; }
namespace functions { int spawn(int); template <class T> void race(T); }
using namespace functions;
}
namespace beck::detail { int helper(); }
namespace other { int foreign; }
"""
NAMES = """\
BECK_TWICE
beck::ip::family
beck::ip::family::v4
beck::ip::family::v6
beck::ip::number
beck::limit
beck::race
beck::result
beck::result::specialised
beck::result::value_type
beck::socket
beck::socket::close
beck::socket::options
beck::socket::options::size
beck::socket::send
beck::socket::wait_read
beck::socket::wait_type
beck::spawn
beck::stream
"""


class Names(unittest.TestCase):
    @unittest.skipUnless(shutil.which("clang++-19"), "no clang++-19")
    def test_public_names_are_listed_and_no_others(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "one.hpp").write_text(HEADER)
            self.assertEqual(api_names.public_names(Path(folder), "clang++-19"), NAMES.split())

    def test_a_difference_is_told_with_its_direction(self):
        self.assertEqual(list(api_names.compare(["a", "b"], ["b", "c"])), ["new: c", "gone: a"])

    def test_equal_lists_do_not_differ(self):
        self.assertEqual(list(api_names.compare(["a"], ["a"])), [])
