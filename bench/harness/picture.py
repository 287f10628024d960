# SPDX-License-Identifier: BSL-1.0
"""Draws the ping-pong: a bar per peer, grouped by how the program is written."""
from . import machine
from .bars import Bar, Heading, Place, draw_bars
from .peers import BECK, FACADE, PEERS
from .drawing import BECK_COLOR, FAINT, FLOOR_COLOR, INK, RIVAL_COLOR, Drawing
from .results import number
from .stats import whiskers

LABELS = {
    "beck-uring": "beck, io_uring",
    "beck-epoll": "beck, epoll",
    "asio-epoll": "Asio, epoll",
    "asio-uring": "Asio, io_uring",
    "facade-uring": "Asio's program, io_uring",
    "facade-epoll": "Asio's program, epoll",
    "raw-epoll": "epoll, edge-triggered",
    "raw-uring": "io_uring, eager receives",
    "raw-uring-lazy": "io_uring, lazy receives",
}
GROUPS = {
    "callback": "callbacks",
    "coroutine": "coroutines",
    "raw": "bare system calls, no library",
}
WIDTH, LEFT, TOP, ROW = 880, 205, 56, 33


def color_of(peer):
    if peer in BECK + FACADE:
        return BECK_COLOR
    return RIVAL_COLOR if peer.startswith("asio") else FLOOR_COLOR


def note_of(results, key):
    """Returns the text behind a bar: the figure, and how it compares with Asio on epoll in the same style."""
    text = f"{number(results.summary(key).median)} ns"
    rival = (key[0], "asio-epoll")
    if key[1] in BECK and rival in results.samples:
        text += f", {results.ratio(key, rival).median:.2f} of Asio's epoll"
    return text


def bar_of(results, key):
    summary = results.summary(key)
    return Bar(LABELS[key[1]], summary.median, summary.low, summary.high, note_of(results, key), color_of(key[1]),
               key[1] in BECK)


def rows_of(results):
    rows = []
    for case in (case for case in GROUPS if case in results.cases()):
        rows.append(Heading(GROUPS[case]))
        rows += [bar_of(results, (case, peer)) for peer in sorted(results.peers(case), key=list(PEERS).index)]
    return rows


def draw(results, stem):
    """Writes stem.svg, and stem.png where matplotlib is. Returns their paths."""
    rows = rows_of(results)
    drawing = Drawing(WIDTH, TOP + ROW * len(rows) + 102)
    drawing.text(18, 26, "Ping-pong over 100 pairs of UNIX sockets, 64-byte messages", 17, INK, bold=True)
    end = draw_bars(drawing, rows, Place(LEFT, TOP, WIDTH - LEFT - 18, ROW, notes_share=0.32))
    unit = "CPU time per message, nanoseconds (shorter is better)"
    drawing.text((LEFT + WIDTH) / 2, end + 8, unit, 13, INK, "middle")
    rounds = len(next(iter(results.samples.values())))
    notes = (
        f"Median of {rounds} interleaved rounds, one thread; whiskers: {whiskers(rounds)}. "
        "Every byte is checked.",
        f"Same compiler flags, sockets and buffers for all; Debian's Asio. {machine.describe(with_load=False)}.",
    )
    for line, text in enumerate(notes):
        drawing.text(18, end + 36 + 16 * line, text, 10.5, FAINT)
    return drawing.save(stem)
