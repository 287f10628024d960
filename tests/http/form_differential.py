#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Reads some thousand forms with files with beck's parser, Go's mime/multipart and Python's email package: the vectors
of multipart.tsv and mutations of them. What beck accepts, at least one of the others accepts and reads in the same way:
the names, the file names and the data of all parts. A form in which beck finds no part does not count.

usage: form_differential.py FORM_PEER [MUTATIONS]       MUTATIONS: of each vector, 60 by default
"""
import email
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fuzz"))
from run import rows, unescaped  # noqa: E402

LIMIT_S = 180
NO_PARTS = "form"  # nobody can be made to read what is not there
PIECES = (
    b"\r\n", b"\n", b"\r", b"--b", b"\r\n--b", b"\r\n--b--", b"\r\n--b\r\n", b"--", b" ", b"\t", b'"', b"\\", b";",
    b":", b"\x00", b"\xff", b"\r\n\r\n", b"; name=c", b'; filename="d"', b"; filename*=UTF-8''e",
    b"Content-Disposition: ", b"form-data", b"Content-Type: a/b\r\n", b"X: y\r\n", b"=", b"%41", b"*", b"b", b"-",
)


def cases(count):
    """Content-Types and bodies."""
    draw = random.Random(1)
    for row in rows("multipart.tsv"):
        kind, body = row[2], unescaped(row[4])
        yield kind, body
        for _ in range(count if len(body) < 2000 else 3):
            yield kind, mutated(draw, body)


def mutated(draw, body):
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, len(body))
        kind = draw.randint(0, 3)
        if kind == 0:
            body = body[:at] + draw.choice(PIECES) + body[at:]
        elif kind == 1:
            body = body[:at] + body[at + draw.randint(1, 4):]
        elif kind == 2:
            body = body[:at] + draw.choice(PIECES) + body[at + draw.randint(1, 4):]
        else:
            end = draw.randint(at, len(body))
            body = body[:end] + body[at:end] + body[end:]
    return body


def hexadecimal(text):
    return text.encode("utf-8", "surrogateescape").hex()


def by_email(kind, body):
    """What Python's email package makes of a form, in the words of form_peer.cpp."""
    message = email.message_from_bytes(b"Content-Type: " + kind + b"\r\n\r\n" + body)
    if message.get_content_type() != "multipart/form-data" or not message.is_multipart():
        return "refused"
    if any("Boundary" in type(defect).__name__ for defect in message.defects):
        return "refused"
    text = "form"
    for part in message.get_payload():
        name = part.get_param("name", header="content-disposition")
        if name is None or part.get_content_disposition() != "form-data":
            return "refused"
        file = part.get_param("filename", header="content-disposition")
        if isinstance(file, tuple):  # with a character set
            file = file[2].encode("latin-1", "replace").decode("utf-8", "surrogateescape")
        if part.is_multipart():
            return "refused"  # email reads the form in the form
        data = part.get_payload()
        text += f" {hexadecimal(str(name))}:{'-' if file is None else hexadecimal(str(file))}:{hexadecimal(data)}"
    return text


def by_email_or_none(kind, body):
    """As by_email(). The package ends with errors of many kinds for names in pieces."""
    try:
        return by_email(kind, body)
    except (AttributeError, LookupError, TypeError, ValueError):
        return "refused"


def read_by(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout.splitlines()


def main(arguments):
    all_cases = list(cases(int(arguments[1]) if len(arguments) > 1 else 60))
    text = "".join(f"{kind.hex()} {body.hex()}\n" for kind, body in all_cases)
    readers = {"beck": read_by([str(Path(arguments[0]).resolve())], text)}
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go:
        with tempfile.TemporaryDirectory() as folder:
            built = f"{folder}/form-reader"
            subprocess.run([go, "build", "-o", built, HERE / "form_reader.go"], check=True, timeout=LIMIT_S)
            readers["go"] = read_by([built], text)
    else:
        print("left out: go: it is not installed (https://go.dev/dl, to /usr/local/go)")
    readers["email"] = [by_email_or_none(kind, body) for kind, body in all_cases]
    for name, answers in readers.items():
        accepted = sum(answer != "refused" for answer in answers)
        print(f"{name:6} accepts {accepted} of {len(answers)} forms")
    faults = 0
    others = [answers for name, answers in readers.items() if name != "beck"]
    for number, (kind, body) in enumerate(all_cases):
        ours = readers["beck"][number]
        if ours in ("refused", NO_PARTS) or any(answers[number] == ours for answers in others):
            continue
        faults += 1
        print(f"form_differential: FAILED: beck alone reads {kind!r} {body[:300]!r}", file=sys.stderr)
        for name, answers in readers.items():
            print(f"  {name:6} {re.sub('[0-9a-f]{80,}', '...', answers[number])}", file=sys.stderr)
    both = sum(ours == answers != "refused" for ours, answers in zip(readers["beck"], readers.get("go", [])))
    print(f"beck and go read {both} alike")
    print("form_differential: passed" if faults == 0 else f"form_differential: {faults} forms")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
