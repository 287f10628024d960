# SPDX-License-Identifier: BSL-1.0
"""Draws the copies: for each case how fast every peer is, and what CPU time it takes for a GiB. Needs matplotlib."""
from . import machine
from .picture import ASIO_COLOR, BECK_COLOR, FAINT, HALO, INK, RAW_COLOR, bare_axes, plt

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


def color_of(peer):
    if peer == "beck-auto":
        return BECK_COLOR
    return ASIO_COLOR if peer.startswith("beck-") else RAW_COLOR


def draw_panel(axes, results, case, metric, factor, text):
    peers = results.peers(case)
    summaries = [results.summary((case, peer), metric) for peer in peers]
    largest = max(summary.high for summary in summaries) * factor
    for y, (peer, summary) in enumerate(zip(peers, summaries)):
        value = summary.median * factor
        axes.barh(y, value, height=0.74, color=color_of(peer), zorder=2)
        spread = [[value - summary.low * factor], [summary.high * factor - value]]
        axes.errorbar(value, y, xerr=spread, color=INK, linewidth=0.9, capsize=2, zorder=3)
        axes.annotate(text(value), (summary.high * factor, y), xytext=(6, 0), textcoords="offset points",
                      va="center", fontsize=8, color=INK, path_effects=HALO)
    axes.set_xlim(0, largest * 1.2)
    bare_axes(axes, peers, 8)


def draw(results, stem):
    """Writes stem.svg and stem.png; gives their paths."""
    plt.rcParams["svg.hashsalt"] = "beck"
    cases = [case for case in CASES if case in results.cases()]
    heights = [len(results.peers(case)) + 1.2 for case in cases]
    total = 0.26 * sum(heights) + 1.6
    figure, grid = plt.subplots(len(cases), 2, figsize=(10, total), squeeze=False,
                                gridspec_kw={"height_ratios": heights})
    for row, case in zip(grid, cases):
        for axes, (what, metric, factor, text) in zip(row, PANELS):
            draw_panel(axes, results, case, metric, factor, text)
            if case == cases[-1]:
                axes.set_xlabel(what, color=INK, fontsize=9)
        row[0].set_title(CASES[case], loc="left", fontsize=10, fontweight="bold", color=INK)
        row[1].set_yticklabels([])
    rounds = len(next(iter(results.samples.values())))
    figure.suptitle("Copying with each engine of beck-copy, dd, cp and fio", x=0.02, ha="left", fontsize=13,
                    fontweight="bold", color=INK)
    note = (
        f"Median of {rounds} interleaved rounds; whiskers: 90 % interval of the median. fio reads or writes, "
        f"it does not copy. {machine.describe(with_load=False)}."
    )
    figure.text(0.02, 0.25 / total, note, fontsize=8, color=FAINT)
    figure.subplots_adjust(left=0.13, right=0.98, top=1 - 0.75 / total, bottom=0.85 / total, hspace=0.42, wspace=0.08)
    paths = [stem.with_suffix(".svg"), stem.with_suffix(".png")]
    figure.savefig(paths[0], metadata={"Date": None})
    figure.savefig(paths[1], dpi=150)
    plt.close(figure)
    return paths
