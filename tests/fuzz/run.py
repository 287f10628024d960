#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the fuzzers of HTTP, Redis, TLS and WebSocket for a time, some at once, and reports executions and findings.

usage: run.py BUILD [--seconds N] [--jobs N] [--only NAME,...]

BUILD is the folder of the preset asan, with the targets http_fuzzers, redis_fuzzers, tls_fuzzers and
websocket_fuzzers built. Seeds are made from the vectors in tests/http/vectors and tests/redis/vectors, from frames, and
from what two ends of a connection may do. In BUILD/../fuzz the corpus of each fuzzer grows, a finding is left in
findings, for BUILD/tests/fuzz/FOLDER/NAME_fuzz FILE to replay, and the report for tools/totals.py in reports.
"""
import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
VECTORS = TESTS / "http" / "vectors"
FOLDERS = ("http", "redis", "tls", "websocket")
MARGIN_SECONDS = 60
ESCAPE = re.compile(rb"\\(\*(\d+);)?(r|n|t|\\|x[0-9a-fA-F]{2}|.)", re.DOTALL)
DATES = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994")
TOKENS = (
    "GET ", "POST ", "HEAD ", "CONNECT ", "OPTIONS * ", " HTTP/1.1\\x0d\\x0a", " HTTP/1.0\\x0d\\x0a", "\\x0d\\x0a",
    "\\x0d\\x0a\\x0d\\x0a", "HTTP/1.1 200 OK\\x0d\\x0a", "HTTP/1.1 304 ", "http://a/", "Host: a\\x0d\\x0a",
    "Content-Length: 3\\x0d\\x0a", "Transfer-Encoding: chunked\\x0d\\x0a", "Connection: close\\x0d\\x0a",
    "Connection: keep-alive\\x0d\\x0a", "Expect: 100-continue\\x0d\\x0a", "0\\x0d\\x0a\\x0d\\x0a", ";a=\\\"b\\\"",
    "X-Sum: 1\\x0d\\x0a", ": ", "\\x09", "\\xff", "\\x7f", "\\x00",
    "Upgrade: websocket\\x0d\\x0a", "Connection: upgrade\\x0d\\x0a", "Sec-WebSocket-Version: 13\\x0d\\x0a",
    "Sec-WebSocket-Protocol: v1\\x0d\\x0a", "Origin: https://a.example\\x0d\\x0a",
    "*?\\x0d\\x0a", "%?\\x0d\\x0a", "$?\\x0d\\x0a", ";1\\x0d\\x0aa\\x0d\\x0a", ";0\\x0d\\x0a", ".\\x0d\\x0a",
    "|1\\x0d\\x0a", ">1\\x0d\\x0a", "*1\\x0d\\x0a", "%1\\x0d\\x0a", "_\\x0d\\x0a", "=5\\x0d\\x0atxt:a\\x0d\\x0a",
    "--b\\x0d\\x0a", "\\x0d\\x0a--b--", "Content-Disposition: form-data; name=a", "; filename=\\\"x\\\"",
    "; filename*=UTF-8''a", "Content-Transfer-Encoding: ", "data:", "event:", "id:", "retry:", "\\xef\\xbb\\xbf",
    ",-1.5e3\\x0d\\x0a", "(12\\x0d\\x0a", "$-1\\x0d\\x0a", ":-9\\x0d\\x0a",
)
KEY = b"dGhlIHNhbXBsZSBub25jZQ=="


def unescaped(text):
    """The bytes that an input of a vector stands for; see tests/support/vectors.hpp."""
    def one(match):
        kind = match[3]
        plain = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"\\": b"\\"}
        byte = bytes([int(kind[1:], 16)]) if len(kind) == 3 else plain.get(kind, kind)
        return byte * int(match[2] or 1)

    return ESCAPE.sub(one, text)


def rows(name, folder=VECTORS):
    for line in (folder / name).read_bytes().splitlines():
        if line and not line.startswith(b"#"):
            yield line.split(b"\t")


def seeds():
    """The inputs of each fuzzer that the vectors give."""
    requests, replies = [], []
    for row in rows("http11probe.tsv"):
        requests.append(b"".join(map(unescaped, row[4:])))
    for row in rows("llhttp.tsv"):
        (replies if row[2].startswith(b"response") else requests).append(unescaped(row[5]))
    chunked = [text.partition(b"\r\n\r\n")[2] for text in requests + replies if b"chunked" in text]
    written = [b"\x00\x40\x32\xff" + text.replace(b": ", b"\xff").replace(b"\r\n", b"\xff") for text in replies]
    written += [b"\x01\x40" + text.replace(b" ", b"\xff").replace(b"\r\n", b"\xff") for text in requests]
    return {
        "request": requests,
        "llhttp": requests,
        "response": replies,
        "body": [kind + body for kind in (b"\x01", b"\x02") for body in chunked],
        "events": [b"\x00" + unescaped(row[3]) for row in rows("events.tsv")],
        "multipart": [bytes([boundary]) + unescaped(row[4]) for row in rows("multipart.tsv") for boundary in (0, 1)],
        "date": [bytes(8) + date.encode() for date in DATES],
        "writer": written,
        "frames": frames(),
        "upgrade": handshakes(),
        "resp": redis_replies(),
        "session": sessions(),
        "engine": connections(),
    }


def redis_replies():
    """The vectors of Redis behind the bytes that choose the version, the limits and the size of parts."""
    inputs = [unescaped(row[1]) for row in rows("replies.tsv", TESTS / "redis" / "vectors")]
    longer = [b"\x00\x04" + b"".join(inputs[at : at + 12]) for at in range(0, len(inputs), 12)]
    return [bytes([choice, 4]) + text for choice in (0, 3) for text in inputs] + longer


def sessions():
    """The limits of a session, and what then happens to its calls: see redis/session_fuzz.cpp."""
    calls = bytes([0, 0x03, 0, 0x50, 2]) + bytes([4, 2]) * 5
    lane = bytes([0, 0x20, 0, 0x40, 2, 4, 4, 5, 0, 4, 8])
    loss = bytes([0, 0x0B, 1, 20, 7, 8, 7, 2, 4, 5, 6])
    return [bytes([limits]) + part + calls for limits in (0, 2, 4, 24, 1) for part in (b"", lane, loss)]


def connections():
    """A version of TLS, a handshake, and what both sides then do: see tls/engine_fuzz.cpp."""
    shake = b"\x09\x00\x00\x89\x00\x00" * 3
    say = b"\x83\x02\x10\x09\x00\x00\x04\x20\x00\x89\x00\x00"
    split = b"\x83\x10\x00\x08\x01\x05\x08\x02\x00\x09\x00\x00"
    update = b"\x85\x00\x00" + say + b"\x05\x00\x00" + say
    end = b"\x86\x00\x00\x09\x00\x00" + say + b"\x06\x00\x00\x89\x00\x00"
    parts = (say, split, update, end, say + b"\x83\x01\x00\x01\x00\x20\x01\x09\x00\x00", b"\x00\x00\x05hello" + say)
    return [version + shake + part + say for version in (b"\x00", b"\x01") for part in parts]


def frames():
    """Frames of a client and of a server behind the byte that chooses the end and its limits."""
    def frame(first, text, masked):
        head = bytes([first, len(text) | (0x80 if masked else 0)])
        return head + (b"\x00\x00\x00\x00" if masked else b"") + text

    inputs = []
    for masked in (True, False):
        whole = [frame(0x81, b"Hello", masked), frame(0x82, b"\x00\xff", masked), frame(0x89, b"ping", masked)]
        parts = [frame(0x01, "\u20ac".encode()[:2], masked), frame(0x80, "\u20ac".encode()[2:], masked)]
        ends = [frame(0x88, b"\x03\xe8bye", masked), frame(0x88, b"", masked)]
        long = bytes([0x82, 126 | (0x80 if masked else 0), 0, 200]) + (bytes(4) if masked else b"") + bytes(200)
        for choice in (b"\x00", b"\x06"):
            inputs.append(bytes([choice[0] | (not masked)]) + b"".join(whole + parts + ends[:1]))
            inputs.append(bytes([choice[0] | (not masked)]) + long + ends[1])
    return inputs


def handshakes():
    """A request for a connection, and the answer to it."""
    request = b"GET /chat HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    request += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: v1, v2\r\nSec-WebSocket-Key: " + KEY + b"\r\n"
    reply = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    reply += b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
    return [request + b"\r\n", request + b"Origin: http://a.example\r\n\r\n", reply + b"\r\n",
            reply + b"Sec-WebSocket-Protocol: v1\r\n\r\n", b"wss://a.example/chat"]


def write_seeds(folder, inputs):
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(inputs):
        (folder / str(number)).write_bytes(data)


def run(name, binary, out, seconds, inputs):
    """Runs one fuzzer. Returns its executions, and what it found or ""."""
    write_seeds(out / "seeds" / name, inputs)
    for folder in ("corpus", "findings"):
        (out / folder / name).mkdir(parents=True, exist_ok=True)
    command = [
        str(binary), f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10", "-rss_limit_mb=2048",
        "-print_final_stats=1", f"-dict={out / 'http.dict'}", f"-artifact_prefix={out / 'findings' / name}/",
        str(out / "corpus" / name), str(out / "seeds" / name),
    ]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, errors="replace", timeout=seconds + MARGIN_SECONDS
        )
        output, status = done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        output, status = "", "a hang"
    executions = re.search(r"stat::number_of_executed_units: (\d+)", output)
    finding = "" if status == 0 else f"ended with {status}:\n" + "\n".join(output.splitlines()[-30:])
    return int(executions[1]) if executions else 0, finding


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, help="how many run at once; all by default")
    parser.add_argument("--only", type=lambda text: text.split(","))
    options = parser.parse_args(arguments)
    programs = options.build.resolve() / "tests" / "fuzz"
    out = options.build.resolve().parent / "fuzz"
    folder_of = {
        name: folder
        for folder in FOLDERS
        for name in (programs / folder / "fuzzers.txt").read_text(encoding="utf-8").split()
    }
    names = [name for name in folder_of if not options.only or name in options.only]
    (out / "reports").mkdir(parents=True, exist_ok=True)
    (out / "http.dict").write_text("".join(f'"{token}"\n' for token in TOKENS), encoding="ascii")
    inputs = seeds()

    def one(name):
        return run(name, programs / folder_of[name] / f"{name}_fuzz", out, options.seconds, inputs.get(name, [b""]))

    total, failed = 0, False
    jobs = options.jobs or len(names)
    with ThreadPoolExecutor(jobs) as pool, open(out / "reports" / "http.tsv", "w", encoding="utf-8") as report:
        for name, (executions, finding) in zip(names, pool.map(one, names)):
            total += executions
            failed = failed or bool(finding)
            print(f"{name}: {executions:,} executions, {'a finding' if finding else 'nothing found'}", flush=True)
            if finding:
                print(finding, flush=True)
            result = "failed" if finding or executions == 0 else "passed"
            report.write(f"{result}\tcase\t{options.seconds * 1000}\tfuzz: {name}\t\n")
        report.write(f"value\thttp.fuzz\t{total}\nend\t{int(failed)}\n")
    print(f"{total:,} executions")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
