# SPDX-License-Identifier: BSL-1.0
"""Tests of the tools: each is fed bad input and must object, and good input and must not."""
