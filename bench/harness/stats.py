# SPDX-License-Identifier: BSL-1.0
"""Statistics for interleaved runs. Only the median and order statistics: they need no assumption about the noise.

A ratio is taken within a round, where both rivals met the same mood of the machine, and the median of the rounds'
ratios is quoted; the ratio of two medians would compare different minutes.
"""
import math
from dataclasses import dataclass


def median(values):
    if not values:
        raise ValueError("the median of nothing")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def interval_ranks(count, confidence=0.9):
    """The ranks (from 1) of the narrowest pair of order statistics that holds the median with this confidence.

    The number of samples below the true median is binomial(count, 1/2). With fewer than five samples no pair is sure
    enough; then the ranks are the extremes.
    """
    low = 1
    below = 0.0  # the chance that fewer than `low` samples lie below the median
    for rank in range(1, (count + 1) // 2 + 1):
        below += math.comb(count, rank - 1) / 2**count
        if 1 - 2 * below < confidence:
            break
        low = rank
    return low, count + 1 - low


@dataclass(frozen=True)
class Summary:
    median: float
    low: float  # the ends of the median's 90 % interval
    high: float
    min: float
    max: float
    count: int


def summarize(values, confidence=0.9):
    ordered = sorted(values)
    low, high = interval_ranks(len(ordered), confidence)
    return Summary(median(ordered), ordered[low - 1], ordered[high - 1], ordered[0], ordered[-1], len(ordered))


def whiskers(count):
    """Returns the name of the interval that a summary of so many samples has."""
    return "90 % interval of the median" if count >= 5 else "the extremes"


def ratios(values, rivals):
    """The ratio in each round; the two lists hold the same rounds in the same order."""
    if len(values) != len(rivals):
        raise ValueError("ratios need the same rounds of both")
    return [value / rival for value, rival in zip(values, rivals)]


def geometric_mean(values):
    if not values or min(values) <= 0:
        raise ValueError("a geometric mean needs positive values")
    return math.exp(sum(map(math.log, values)) / len(values))
