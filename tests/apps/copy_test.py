#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs beck-copy as its users would, on files, devices, pipes and terminals, and looks at its system calls.

usage: copy_test.py BECK_COPY [unittest options]
"""
import sys
import unittest
from pathlib import Path

import tool
from copy_content_cases import *  # noqa: F401,F403
from copy_engine_cases import *  # noqa: F401,F403
from copy_error_cases import *  # noqa: F401,F403
from copy_habit_cases import *  # noqa: F401,F403
from copy_interrupt_cases import *  # noqa: F401,F403
from copy_stream_cases import *  # noqa: F401,F403

if __name__ == "__main__":
    tool.program = Path(sys.argv.pop(1)).resolve()
    unittest.main()
