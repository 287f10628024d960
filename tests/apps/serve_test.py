#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs beck-serve on folders of its own and checks it with real requests.

usage: serve_test.py BECK_SERVE [unittest options]
"""
import sys
import unittest
from pathlib import Path

import server
from serve_file_cases import *  # noqa: F401,F403
from serve_life_cases import *  # noqa: F401,F403
from serve_tls_cases import *  # noqa: F401,F403

if __name__ == "__main__":
    server.program = Path(sys.argv.pop(1)).resolve()
    done = unittest.main(exit=False).result
    print(f"self-test: {done.testsRun - len(done.failures) - len(done.errors)} of {done.testsRun} checks passed")
    sys.exit(not done.wasSuccessful())
