# SPDX-License-Identifier: BSL-1.0
"""adl_calls.py finds the calls that are looked up through their arguments, at their places, and no others; and the
functions that calls without a namespace find."""
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


DECLARATIONS = """
TranslationUnitDecl 0x1 <<invalid sloc>> <invalid sloc>
|-NamespaceDecl 0x2 <include/beck/a.hpp:1:1, line:40:1> line:1:11 beck
| |-FunctionDecl 0x3 <line:2:1, col:20> col:5 spawn 'int (int)'
| |-FunctionDecl 0x4 <line:3:1, col:20> col:5 version 'const char *() noexcept'
| |-FunctionTemplateDecl 0x5 <line:4:1, line:5:20> line:5:6 race
| | |-TemplateTypeParmDecl 0x6 <line:4:11, col:17> col:17 class depth 0 index 0 T
| | |-FunctionDecl 0x7 <line:5:1, col:20> col:6 race 'void (T)'
| | `-FunctionDecl 0x8 <col:1, col:20> col:6 used race 'void (int)' implicit_instantiation
| |-FunctionDecl 0x9 <line:6:1, col:20> col:6 post 'void (int)'
| |-CXXRecordDecl 0xa <line:7:1, line:9:1> line:7:7 class socket definition
| | `-CXXMethodDecl 0xb <line:8:3, col:20> col:8 timeout 'void (int)'
| |-NamespaceDecl 0xc <line:10:1, line:12:1> line:10:11 functions
| | |-FunctionDecl 0xd <line:11:1, col:20> col:5 timeout 'int (int)'
| | `-FunctionDecl 0xe <line:12:1, col:20> col:5 shield 'int (int)'
| |-NamespaceDecl 0xf <line:13:1, line:16:1> line:13:11 detail
| | |-FunctionDecl 0x10 <line:14:1, col:20> col:5 internal 'int (int)'
| | `-FunctionTemplateDecl 0x11 <line:15:1, col:20> col:6 helper
| |   `-FunctionDecl 0x12 <col:1, col:20> col:6 helper 'void (T)'
| `-NamespaceDecl 0x13 <line:20:1, line:23:1> line:20:11 http nested
|   |-FunctionDecl 0x14 <line:21:1, col:20> col:5 post 'int (int)'
|   `-FunctionDecl 0x15 <line:22:1, col:20> col:5 make_error_code 'int (int)'
`-FunctionDecl 0x16 <line:50:1, col:20> col:5 outside 'int (int)'
"""
A = "include/beck/a.hpp"


class Calls(unittest.TestCase):
    def test_finds_what_is_not_qualified(self):
        placed = list(adl_calls.places(DUMP.splitlines()))
        self.assertEqual(adl_calls.calls(placed, "include"), [("include/beck/run/bind.hpp", 80, "executor_of")])

    def test_other_folders_do_not_count(self):
        self.assertEqual(adl_calls.calls(list(adl_calls.places(DUMP.splitlines())), "src"), [])


class Functions(unittest.TestCase):
    def setUp(self):
        self.found = adl_calls.functions(list(adl_calls.places(DECLARATIONS.splitlines())), "include")

    def test_functions_outside_of_functions_are_misplaced_unless_they_are_asios_or_meant(self):
        expected = {(A, 2, "spawn"), (A, 5, "race"), (A, 15, "helper"), (A, 21, "post")}
        self.assertEqual(set(adl_calls.misplaced(self.found)), expected)

    def test_each_needs_a_call_in_the_test(self):
        test = "BECK_TEST_CALL(beck, timeout, 1);\nBECK_TEST_CALL(beck::http, shield, 1);"
        self.assertEqual(list(adl_calls.untested(self.found, test)), [(A, 12, "shield")])


if __name__ == "__main__":
    unittest.main()
