# SPDX-License-Identifier: BSL-1.0
"""Draws the HTTP servers: for each case the CPU time that a request costs each of them. Needs matplotlib."""
from . import machine
from .catalogue import BECK, PEERS
from .picture import ASIO_COLOR, BECK_COLOR, FAINT, HALO, INK, RAW_COLOR, bare_axes, plt
from .results import number

CASES = {
    "1k": "100 connections, 1 KiB",
    "1k-1000": "1,000 connections, 1 KiB",
    "64k": "100 connections, 64 KiB",
    "pipelined": "16 requests at once, 1 KiB",
    "connection": "a connection for each request, 4 KiB",
    "file-1g": "a file of 1 GiB",
}
LABELS = {
    "beck-uring": "beck, io_uring",
    "beck-epoll": "beck, epoll",
    "beck-uring-file": "beck, io_uring, file",
    "beck-epoll-file": "beck, epoll, file",
    "raw-epoll": "bare epoll",
    "nginx": "nginx, return",
    "nginx-file": "nginx, file",
    "asio-epoll": "Asio",
    "beast": "Boost.Beast",
    "go": "Go",
}


def color_of(peer):
    if peer.startswith(BECK):
        return BECK_COLOR
    return RAW_COLOR if peer == "raw-epoll" else ASIO_COLOR


def draw_case(axes, results, case):
    scale, unit = (1e6, "ms") if case.startswith("file") else (1e3, "us")
    peers = sorted(results.peers(case), key=list(PEERS).index)
    summaries = [results.summary((case, peer)) for peer in peers]
    for y, (peer, summary) in enumerate(zip(peers, summaries)):
        value = summary.median / scale
        axes.barh(y, value, height=0.74, color=color_of(peer), zorder=2)
        spread = [[value - summary.low / scale], [summary.high / scale - value]]
        axes.errorbar(value, y, xerr=spread, color=INK, linewidth=0.9, capsize=2, zorder=3)
        axes.annotate(f"{number(value)} {unit}", (summary.high / scale, y), xytext=(6, 0), textcoords="offset points",
                      va="center", fontsize=8, color=INK, path_effects=HALO)
    axes.set_xlim(0, max(summary.high for summary in summaries) / scale * 1.25)
    bare_axes(axes, [LABELS[peer] for peer in peers], 8.5)
    axes.set_title(CASES[case], loc="left", fontsize=10, fontweight="bold", color=INK)


def draw(results, stem):
    """Writes stem.svg and stem.png; gives their paths."""
    plt.rcParams["svg.hashsalt"] = "beck"
    cases = [case for case in CASES if case in results.cases()]
    rows = (len(cases) + 1) // 2
    heights = [max(len(results.peers(case)) for case in cases[row * 2 : row * 2 + 2]) + 1.6 for row in range(rows)]
    total = 0.27 * sum(heights) + 1.5
    figure, grid = plt.subplots(rows, 2, figsize=(10.4, total), squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, case in zip(grid.flat, cases):
        draw_case(axes, results, case)
    for axes in list(grid.flat)[len(cases) :]:
        axes.set_visible(False)
    rounds = len(next(iter(results.samples.values())))
    figure.suptitle("HTTP servers: CPU time of the server for a request (shorter is better)", x=0.02, ha="left",
                    fontsize=13, fontweight="bold", color=INK)
    note = (
        f"Median of {rounds} interleaved rounds; whiskers: 90 % interval of the median. One worker and the client on "
        f"different CPUs, the same bytes from all.\nClients: wrk, ab, curl. {machine.describe(with_load=False)}."
    )
    figure.text(0.02, 0.2 / total, note, fontsize=8, color=FAINT)
    figure.subplots_adjust(left=0.135, right=0.98, top=1 - 0.8 / total, bottom=0.85 / total, hspace=0.3, wspace=0.38)
    paths = [stem.with_suffix(".svg"), stem.with_suffix(".png")]
    figure.savefig(paths[0], metadata={"Date": None})
    figure.savefig(paths[1], dpi=150)
    plt.close(figure)
    return paths
