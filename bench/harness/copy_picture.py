# SPDX-License-Identifier: BSL-1.0
"""Draws the copies: for each case how fast every peer is, and what CPU time it takes for a GiB."""
from . import machine
from .bars import Bar, Place, draw_bars
from .drawing import BECK_COLOR, FAINT, FLOOR_COLOR, INK, RIVAL_COLOR, Drawing
from .stats import whiskers

CASES = {
    "zero-null": "/dev/zero to /dev/null",
    "file-null-warm": "cached file to /dev/null",
    "file-null-cold": "file on the disk to /dev/null",
    "zero-file": "/dev/zero to a new file",
    "file-file": "cached file to a new file",
}
PANELS = (  # what, metric, factor, how it is written
    ("GiB per second (longer is better)", "rate_mib_per_second", 1 / 1024, "{:.1f}".format),
    ("CPU seconds per GiB (shorter is better)", "cpu_ns_per_op", 1e-9, "{:.3f}".format),
)
WIDTH, NAMES, ROW, TOP, TITLE, GAP, BETWEEN = 960, 130, 25, 52, 24, 40, 34


def color_of(peer):
    if peer == "beck-auto":
        return BECK_COLOR
    return RIVAL_COLOR if peer.startswith("beck-") else FLOOR_COLOR


def bar_of(results, case, peer, panel, named):
    _, metric, factor, text = panel
    s = results.summary((case, peer), metric)
    name = peer if named else ""
    return Bar(name, s.median * factor, s.low * factor, s.high * factor, text(s.median * factor), color_of(peer))


def draw(results, stem):
    """Writes stem.svg, and stem.png where matplotlib is. Returns their paths."""
    cases = [case for case in CASES if case in results.cases()]
    heights = [TITLE + ROW * len(results.peers(case)) + GAP for case in cases]
    drawing = Drawing(WIDTH, TOP + sum(heights) + 44)
    drawing.text(18, 26, "Copying with each engine of beck-copy, dd, cp and fio", 17, INK, bold=True)
    width = (WIDTH - NAMES - BETWEEN - 18) / 2
    columns = [(NAMES, PANELS[0]), (NAMES + width + BETWEEN, PANELS[1])]
    top = TOP
    for case, height in zip(cases, heights):
        drawing.text(NAMES, top + TITLE / 2, CASES[case], 13, INK, bold=True)
        for x, panel in columns:
            rows = [bar_of(results, case, peer, panel, x == NAMES) for peer in results.peers(case)]
            draw_bars(drawing, rows, Place(x, top + TITLE, width, ROW, 11.5))
        top += height
    for x, panel in columns:
        drawing.text(x + width / 2, top - 6, panel[0], 12, INK, "middle")
    rounds = len(next(iter(results.samples.values())))
    note = (
        f"Median of {rounds} interleaved rounds; whiskers: {whiskers(rounds)}. fio reads or writes, "
        f"it does not copy. {machine.describe(with_load=False)}."
    )
    drawing.text(18, top + 22, note, 10.5, FAINT)
    return drawing.save(stem)
