# SPDX-License-Identifier: BSL-1.0
"""adl_calls.py finds the calls that are looked up through their arguments, at their places, and no others."""
import unittest

import adl_calls

DUMP = """
|-FunctionTemplateDecl 0x1 <include/beck/run/bind.hpp:77:1, line:82:1> line:78:6 bind_executor
| |-ReturnStmt 0x2 <line:79:3, line:81:60>
| | `-CallExpr 0x3 <line:80:10, col:30> '<dependent type>'
| |   `-UnresolvedLookupExpr 0x4 <col:10> '<overloaded function type>' lvalue (ADL) = 'executor_of' 0x9
| |-UnresolvedLookupExpr 0x5 <col:40, col:44> '<overloaded function type>' lvalue (no ADL) = 'launch' 0x9
| `-UnresolvedLookupExpr 0x6 <col:50> '<overloaded function type>' lvalue (ADL) = 'operator==' 0x9
`-FunctionTemplateDecl 0x7 </usr/include/c++/12/bits/move.h:10:1, line:12:1> line:10:6 swap
  `-UnresolvedLookupExpr 0x8 <line:11:3> '<overloaded function type>' lvalue (ADL) = 'swap' 0x9
"""


class Calls(unittest.TestCase):
    def test_finds_what_is_not_qualified(self):
        self.assertEqual(
            adl_calls.calls(DUMP.splitlines(), "include"), [("include/beck/run/bind.hpp", 80, "executor_of")]
        )

    def test_other_folders_do_not_count(self):
        self.assertEqual(adl_calls.calls(DUMP.splitlines(), "src"), [])


if __name__ == "__main__":
    unittest.main()
