#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs beck-redis-proxy in front of real redis-servers, and of servers that the tests play.

usage: redis_proxy_test.py BECK_REDIS_PROXY [unittest options]
"""
import sys
import unittest
from pathlib import Path

import redis_proxy
from redis_proxy_library_cases import *  # noqa: F401,F403
from redis_proxy_loss_cases import *  # noqa: F401,F403
from redis_proxy_relay_cases import *  # noqa: F401,F403
from redis_proxy_shared_bound_cases import *  # noqa: F401,F403
from redis_proxy_shared_cases import *  # noqa: F401,F403
from redis_proxy_shared_edge_cases import *  # noqa: F401,F403
from redis_proxy_usage_cases import *  # noqa: F401,F403

if __name__ == "__main__":
    redis_proxy.program = Path(sys.argv.pop(1)).resolve()
    unittest.main()
