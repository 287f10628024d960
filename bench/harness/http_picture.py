# SPDX-License-Identifier: BSL-1.0
"""Draws the HTTP servers: for each case the CPU time that a request costs each of them."""
from . import machine
from .bars import Bar, Place, draw_bars
from .peers import BECK, PEERS
from .drawing import BECK_COLOR, FAINT, FLOOR_COLOR, INK, RIVAL_COLOR, Drawing
from .results import number
from .stats import whiskers

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
WIDTH, NAMES, ROW, TOP, TITLE, GAP = 1000, 135, 25, 52, 24, 44


def color_of(peer):
    if peer.startswith(BECK):
        return BECK_COLOR
    return FLOOR_COLOR if peer == "raw-epoll" else RIVAL_COLOR


def bar_of(results, case, peer):
    scale, unit = (1e6, "ms") if case.startswith("file") else (1e3, "us")
    summary = results.summary((case, peer))
    value = summary.median / scale
    note = f"{number(value)} {unit}"
    return Bar(LABELS[peer], value, summary.low / scale, summary.high / scale, note, color_of(peer))


def draw_case(drawing, results, case, left, top):
    peers = sorted(results.peers(case), key=list(PEERS).index)
    drawing.text(left + NAMES, top + TITLE / 2, CASES[case], 13, INK, bold=True)
    place = Place(left + NAMES, top + TITLE, WIDTH / 2 - NAMES - 20, ROW, 11.5)
    draw_bars(drawing, [bar_of(results, case, peer) for peer in peers], place)


def draw(results, stem):
    """Writes stem.svg, and stem.png where matplotlib is. Returns their paths."""
    cases = [case for case in CASES if case in results.cases()]
    lines = [cases[at : at + 2] for at in range(0, len(cases), 2)]
    heights = [TITLE + ROW * max(len(results.peers(case)) for case in line) + GAP for line in lines]
    drawing = Drawing(WIDTH, TOP + sum(heights) + 36)
    title = "HTTP servers: CPU time of the server for a request (shorter is better)"
    drawing.text(18, 26, title, 17, INK, bold=True)
    top = TOP
    for line, height in zip(lines, heights):
        for column, case in enumerate(line):
            draw_case(drawing, results, case, column * WIDTH / 2, top)
        top += height
    rounds = len(next(iter(results.samples.values())))
    notes = (
        f"Median of {rounds} interleaved rounds; whiskers: {whiskers(rounds)}. One worker and the client on "
        "different CPUs, the same bytes from all.",
        f"Clients: wrk, ab, curl. {machine.describe(with_load=False)}.",
    )
    for number_of_line, text in enumerate(notes):
        drawing.text(18, top + 2 + 16 * number_of_line, text, 10.5, FAINT)
    return drawing.save(stem)
