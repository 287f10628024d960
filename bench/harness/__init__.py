# SPDX-License-Identifier: BSL-1.0
"""The parts of run.py: what there is to run, running it side by side, statistics, tables, targets, pictures."""
