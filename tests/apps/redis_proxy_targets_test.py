#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs beck-redis-proxy in front of groups of real redis-servers: those that sentinels look after, and a
cluster; and its PROXY INFO.

usage: redis_proxy_targets_test.py BECK_REDIS_PROXY [unittest options]
"""
import sys
import unittest
from pathlib import Path

import redis_proxy
from redis_proxy_cluster_cases import ClusterLoss, ClusterTarget  # noqa: F401
from redis_proxy_cluster_face_cases import ClusterFace  # noqa: F401
from redis_proxy_info_cases import Info  # noqa: F401
from redis_proxy_sentinel_cases import SentinelTarget, SentinelsOutOfReach  # noqa: F401

if __name__ == "__main__":
    redis_proxy.program = Path(sys.argv.pop(1)).resolve()
    unittest.main()
