# SPDX-License-Identifier: BSL-1.0
"""Draws the ping-pong: a bar per peer, grouped by how the program is written. Needs matplotlib."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  the backend must be chosen first
from matplotlib import patheffects  # noqa: E402

from . import machine  # noqa: E402
from .catalogue import BECK, PEERS  # noqa: E402
from .results import number  # noqa: E402

LABELS = {
    "beck-uring": "beck, io_uring",
    "beck-epoll": "beck, epoll",
    "asio-epoll": "Asio, epoll",
    "asio-uring": "Asio, io_uring",
    "raw-epoll": "epoll, edge-triggered",
    "raw-uring": "io_uring, eager receives",
    "raw-uring-lazy": "io_uring, lazy receives",
}
GROUPS = {
    "callback": "callbacks",
    "coroutine": "coroutines",
    "raw": "bare system calls, no library",
}
BECK_COLOR, ASIO_COLOR, RAW_COLOR = "#0b6e4f", "#9aa5b1", "#d9dee3"
INK, FAINT = "#1f2933", "#616e7c"
BAR_HEIGHT, GROUP_GAP = 0.74, 1.3
HALO = [patheffects.withStroke(linewidth=3, foreground="white")]  # keeps the grid out of the letters


def bare_axes(axes, names, font_size):
    """Leaves a chart of bars only the names of the bars, the figures below it and a faint grid."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=font_size, color=INK)
    axes.tick_params(length=0, colors=FAINT, labelsize=font_size)
    axes.grid(axis="x", color="#e4e7eb", linewidth=0.8, zorder=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(FAINT)


def color_of(peer):
    if peer in BECK:
        return BECK_COLOR
    return ASIO_COLOR if peer.startswith("asio") else RAW_COLOR


def note_of(results, key):
    """What stands behind a bar: the figure, and how it compares with Asio on epoll in the same style."""
    text = f"{number(results.summary(key).median)} ns"
    rival = (key[0], "asio-epoll")
    if key[1] in BECK and rival in results.samples:
        text += f"   {results.ratio(key, rival).median:.2f} of Asio's epoll"
    return text


def draw_bars(axes, results):
    """One bar per peer from top to bottom; gives the height that was used."""
    y = 0.0
    for case in (case for case in GROUPS if case in results.cases()):
        axes.annotate(
            GROUPS[case],
            (0, y),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=10.5,
            fontweight="bold",
            color=INK,
            path_effects=HALO,
        )
        for peer in sorted(results.peers(case), key=list(PEERS).index):
            y += 1
            summary = results.summary((case, peer))
            ours = peer in BECK
            axes.barh(y, summary.median, height=BAR_HEIGHT, color=color_of(peer), zorder=2)
            spread = [[summary.median - summary.low], [summary.high - summary.median]]
            axes.errorbar(summary.median, y, xerr=spread, color=INK, linewidth=1, capsize=2.5, zorder=3)
            axes.annotate(
                note_of(results, (case, peer)),
                (summary.high, y),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                fontsize=9.5,
                color=INK,
                path_effects=HALO,
                fontweight="bold" if ours else "normal",
            )
            axes.annotate(
                LABELS[peer],
                (0, y),
                xytext=(-8, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=10,
                color=BECK_COLOR if ours else INK,
                fontweight="bold" if ours else "normal",
            )
        y += GROUP_GAP
    return y - GROUP_GAP


def draw(results, stem):
    """Writes stem.svg and stem.png; gives their paths."""
    plt.rcParams["svg.hashsalt"] = "beck"  # the same figures give the same file
    bars = len(results.samples)
    figure, axes = plt.subplots(figsize=(9.2, 2.1 + 0.36 * (bars + 4)))
    used = draw_bars(axes, results)
    largest = max(results.summary(key).high for key in results.samples)
    axes.set_xlim(0, largest * 1.25)
    axes.set_ylim(used + 0.6, -0.7)
    axes.set_yticks([])
    axes.set_xlabel("CPU time per message, nanoseconds (shorter is better)", color=INK, fontsize=10)
    axes.tick_params(axis="x", colors=FAINT, length=0)
    axes.grid(axis="x", color="#e4e7eb", linewidth=0.8, zorder=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(FAINT)
    rounds = len(next(iter(results.samples.values())))
    figure.suptitle(
        "Ping-pong over 100 pairs of UNIX sockets, 64-byte messages",
        x=0.02, ha="left", fontsize=13, fontweight="bold", color=INK,
    )
    figure.text(
        0.02,
        0.012,
        f"Median of {rounds} interleaved rounds, one thread; whiskers: 90 % interval of the median. "
        "Every byte is checked.\n"
        f"Same compiler flags, sockets and buffers for all; Debian's Asio. {machine.describe(with_load=False)}.",
        fontsize=8, color=FAINT, va="bottom",
    )
    height = figure.get_size_inches()[1]
    figure.subplots_adjust(left=0.235, right=0.985, top=1 - 0.55 / height, bottom=0.98 / height)
    paths = [stem.with_suffix(".svg"), stem.with_suffix(".png")]
    figure.savefig(paths[0], metadata={"Date": None})
    figure.savefig(paths[1], dpi=150)
    plt.close(figure)
    return paths
