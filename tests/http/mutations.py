# SPDX-License-Identifier: BSL-1.0
"""Requests that servers may read differently: each a name and bytes. The target of every request holds "/@/", which
differential.py replaces by a path of its own."""
import re
from pathlib import Path

VECTORS = Path(__file__).resolve().parent / "vectors"
HOST = b"Host: a\r\n"
FIRST, SECOND = b"POST /@/first HTTP/1.1\r\n", b"GET /@/second HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = b"5\r\nhello\r\n0\r\n\r\n"
SMUGGLED = b"0\r\n\r\nGET /@/smuggled HTTP/1.1\r\nHost: a\r\nX: "

LENGTHS = (
    b"5", b"+5", b"-5", b"05", b"0000000005", b"5 ", b" 5", b"5\t", b"5,5", b"5, 5", b"5,6", b",5", b"5,", b"0x5",
    b"5;", b"", b" ", b"5 5", b"5.0", b"5e0", b"99999999999999999999", b"18446744073709551621", b"9223372036854775808",
    b"5\x0b", b"5\x0c", b"5\x00", b"\xb55", b"\xef\xbc\x95", b'"5"', b"5\r\n 6", b"\r\n 5", b"five", b"4294967301",
    b"_5",
)
LENGTH_NAMES = (
    b"content-length", b"CONTENT-LENGTH", b"Content-Length ", b"Content-Length\t", b" Content-Length",
    b"Content_Length", b"Content-Length\x00", b"\x00Content-Length", b"Content-Length\x0b", b"Content Length",
    b"Content-Length\r", b"\tContent-Length", b"Content\xadLength", b'"Content-Length"', b"Content-Length:",
    b"(Content-Length)",
)
CODINGS = (
    b"chunked", b"Chunked", b"CHUNKED", b" chunked", b"chunked ", b"\tchunked", b"chunked\t", b"\x0bchunked",
    b"chunked\x0b", b"\x0cchunked", b"xchunked", b"chunkedx", b"chunked,chunked", b"chunked, chunked",
    b"chunked, identity", b"identity", b"identity, chunked", b"gzip, chunked", b"gzip", b"chunked, gzip",
    b"chunked;q=1", b"chunked; a=b", b'"chunked"', b"'chunked'", b"chunk ed", b"chunk", b"chunked\x00", b"\x00chunked",
    b"", b" ", b",", b", chunked", b",chunked", b"chunked,", b"chunked, ", b"\r\n chunked", b"chunked\r\n ",
    b"chunked\r\n\t", b"cow", b"cow, chunked", b"chunked, cow", b"\xffchunked", b"chunked\xff", b"trailers",
    b"deflate, chunked", b"chunked\r", b"identity\r\n chunked",
)
CODING_NAMES = (
    b"transfer-encoding", b"TRANSFER-ENCODING", b"Transfer-Encoding ", b"Transfer-Encoding\t", b" Transfer-Encoding",
    b"Transfer_Encoding", b"Transfer-Encoding\x00", b"\x00Transfer-Encoding", b"Transfer-Encoding\x0b",
    b"Transfer Encoding", b"Transfer-Encoding\r", b"Transfer-Encoding\r\n", b"X: y\nTransfer-Encoding",
    b"X: y\rTransfer-Encoding", b"X: y\r\n\rTransfer-Encoding", b"Transfer\xadEncoding", b"Content-Encoding", b"TE",
    b"Transfer-Encoding:",
)
SIZE_LINES = (
    b"5", b"05", b"0005", b"0000000000000005", b"00000000000000005", b"0x5", b"+5", b"-5", b" 5", b"5 ", b"5\t", b"5;",
    b"5;a", b"5;a=b", b'5;a="b"', b'5;a="b;c"', b"5 ;a", b"5; a=b", b"5;a =b", b"5;a= b", b"5;\n", b"5;a\x00",
    b"5;a\nb", b"5\r", b"5\n", b'5;a="\r\n"', b"5;\xff=b", b"5,5", b"G", b"", b"5g", b"10000000000000005",
    b"FFFFFFFFFFFFFFFF5", b"5.0", b"5_", b"5\x0b", b"5;" + b"a" * 300, b"5\x00", b"\x005", b"0\r\n\r\n5",
)
SIZE_ENDS = (
    b"\r\n", b"\n", b"\r", b"\r\r\n", b"\n\r\n", b"",
)
DATA_ENDS = (
    b"\r\n", b"\n", b"\r", b"", b"X\r\n", b"\r\n\r\n", b"  ", b"\n\r", b"\rX",
)
LAST_CHUNKS = (
    b"0\r\n\r\n", b"00\r\n\r\n", b"0000\r\n\r\n", b"0;a\r\n\r\n", b"0\n\n", b"0\r\n\n", b"0\n\r\n", b"0\r\n",
    b"0\r\r\n\r\n", b"-0\r\n\r\n", b"0 \r\n\r\n", b" 0\r\n\r\n", b"0x0\r\n\r\n", b"0\r\nA: b\r\n\r\n",
    b"0\r\nA: b\n\r\n", b"0\r\n A: b\r\n\r\n", b"0\r\nA b\r\n\r\n", b"0\r\n: b\r\n\r\n",
    b"0\r\nContent-Length: 9\r\n\r\n", b"0\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\nHost: b\r\n\r\n",
    b"0\r\nA: b\r\n\tc\r\n\r\n", b"0\r\nA: b\x00\r\n\r\n", b"0\r\nA : b\r\n\r\n", b"0\r\nAuthorization: b\r\n\r\n",
)
REQUEST_LINES = (
    b"GET /@/first HTTP/1.1", b"GET  /@/first HTTP/1.1", b"GET /@/first  HTTP/1.1", b"GET\t/@/first HTTP/1.1",
    b"GET /@/first\tHTTP/1.1", b" GET /@/first HTTP/1.1", b"GET /@/first HTTP/1.1 ", b"GET /@/first HTTP/1.1\t",
    b"GET /@/first", b"GET /@/first ", b"GET /@/first http/1.1", b"GET /@/first HTTP/1.0", b"GET /@/first HTTP/1.2",
    b"GET /@/first HTTP/1.10", b"GET /@/first HTTP/01.1", b"GET /@/first HTTP/1.", b"GET /@/first HTTP/1",
    b"GET /@/first HTTP/2.0", b"GET /@/first HTTP/0.9", b"GET /@/first HTTP /1.1", b"GET /@/first HTTPS/1.1",
    b"GET /@/first ICAP/1.0", b"get /@/first HTTP/1.1", b"GE(T /@/first HTTP/1.1", b"G\x00T /@/first HTTP/1.1",
    b"G\xc3T /@/first HTTP/1.1", b"/@/first HTTP/1.1", b"GET HTTP/1.1", b"GET /@/fi rst HTTP/1.1",
    b"GET /@/fi\x00rst HTTP/1.1", b"GET /@/fi\x7frst HTTP/1.1", b"GET /@/fi\xffrst HTTP/1.1",
    b"GET /@/fi\x0brst HTTP/1.1", b"GET /@/first#a HTTP/1.1", b"GET /@/first?a#b HTTP/1.1", b"GET @/first HTTP/1.1",
    b"GET http://a/@/first HTTP/1.1", b"GET http://b/@/first HTTP/1.1", b"GET http:///@/first HTTP/1.1",
    b"GET http://a:b@a/@/first HTTP/1.1", b"GET ftp://a/@/first HTTP/1.1", b"GET //a/@/first HTTP/1.1",
    b"GET * HTTP/1.1", b"OPTIONS /@/first HTTP/1.1", b"GET a:80 HTTP/1.1", b"GET /@/%00 HTTP/1.1",
    b"GET /@/%zz HTTP/1.1", b"GET /@/../@/first HTTP/1.1", b"GET /@/\\first HTTP/1.1", b"GET /@/first\rHTTP/1.1",
    b"GET /@/<first> HTTP/1.1", b"GET\r\n /@/first HTTP/1.1",
)
BEGINNINGS = (
    b"\r\n", b"\r\n\r\n", b"\r\n\r\n\r\n", b"\n", b"\r", b" ", b"\r\n ", b"\x00", b"\xef\xbb\xbf",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
)
HOSTS = (
    b"", b"Host:\r\n", b"Host: a\r\nHost: a\r\n", b"Host: a\r\nHost: b\r\n", b"Host: a, b\r\n", b"Host: a/b\r\n",
    b"Host: u@a\r\n", b"Host: a b\r\n", b"Host : a\r\n", b" Host: a\r\n", b"Host: a\r\n b\r\n", b"Host:a\r\n",
    b"Host:\ta\t\r\n", b"Host: a:80\r\n", b"Host: a:x\r\n", b"Host: a:\r\n", b"Host: a#b\r\n", b"Host: a?b\r\n",
    b"Host: [::1]\r\n", b"Host: [::1\r\n", b"Host: a\x00\r\n", b"Host: \xff\r\n", b"Host: a\n", b"Host: a\r",
)
LINES = (
    b"A: b\r\n", b"A: b\n", b"A: b\r", b"A: b\r\r\n", b"A: b\n\r\n", b"A b\r\n", b"A\r\n", b": b\r\n",
    b"A: b\x00c\r\n", b"A: b\x01\r\n", b"A: b\x7f\r\n", b"A: b\xff\r\n", b"A(: b\r\n", b"A\x00: b\r\n",
    b"A\xff: b\r\n", b"A : b\r\n", b" A: b\r\n", b"A: b\r\n c\r\n", b"A: b\r\n\tc\r\n", b"A:\r\n", b"A:b\r\n",
    b"A: b\rC: d\r\n", b"A: b\r\n \r\n", b"\r\n", b"A" * 300 + b": b\r\n",
    b"Connection: close, Content-Length\r\nContent-Length: 5\r\n", b"Connection: Host\r\n",
    b"Connection: Transfer-Encoding\r\n", b"Expect: 100-continue\r\n", b"Expect: 200-ok\r\n",
    b"Upgrade: h2c\r\nConnection: upgrade\r\n", b"A: " + b"b" * 40_000 + b"\r\n", b"A: b\r\n" * 200,
    b"Proxy-Connection: close\r\n", b"HTTP2-Settings: AAMAAABk\r\n",
)


def own():
    """The mutations of this file."""
    for i, value in enumerate(LENGTHS):
        yield f"length {i} {value[:24]!r}", FIRST + HOST + b"Content-Length: " + value + b"\r\n\r\nhello" + SECOND
    for name in LENGTH_NAMES:
        yield f"length name {name!r}", FIRST + HOST + name + b": 5\r\n\r\nhello" + SECOND
    for a, b in ((b"5", b"5"), (b"5", b"6"), (b"0", b"5"), (b"5", b"0"), (b"05", b"5")):
        fields = b"Content-Length: " + a + b"\r\nContent-Length: " + b + b"\r\n"
        yield f"lengths {a!r} {b!r}", FIRST + HOST + fields + b"\r\nhello" + SECOND
    for i, value in enumerate(CODINGS):
        coding = b"Transfer-Encoding: " + value + b"\r\n"
        yield f"coding {i} {value!r}", FIRST + HOST + coding + b"\r\n" + CHUNKED + SECOND
        short = b"Content-Length: 4\r\n"
        yield f"coding {i} {value!r} and length", FIRST + HOST + short + coding + b"\r\n" + CHUNKED + SECOND
        smuggling = b"Content-Length: %d\r\n" % len(SMUGGLED)
        yield f"length and coding {i} {value!r}", FIRST + HOST + coding + smuggling + b"\r\n" + SMUGGLED + SECOND
    for name in CODING_NAMES:
        yield f"coding name {name!r}", FIRST + HOST + name + b": chunked\r\n\r\n" + CHUNKED + SECOND
        length = b"Content-Length: %d\r\n" % len(CHUNKED)
        yield f"length and coding name {name!r}", FIRST + HOST + length + name + b": chunked\r\n\r\n" + CHUNKED + SECOND
    for a, b in ((b"chunked", b"chunked"), (b"chunked", b"identity"), (b"identity", b"chunked"), (b"gzip", b"chunked")):
        fields = b"Transfer-Encoding: " + a + b"\r\nTransfer-Encoding: " + b + b"\r\n"
        yield f"codings {a!r} {b!r}", FIRST + HOST + fields + b"\r\n" + CHUNKED + SECOND
    old = b"POST /@/first HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n"
    yield "coding in 1.0", old + b"\r\n" + CHUNKED + SECOND
    yield "coding and length in 1.0", old + b"Content-Length: 5\r\n\r\n" + CHUNKED + SECOND
    chunked = FIRST + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    for i, line in enumerate(SIZE_LINES):
        yield f"size {i} {line[:24]!r}", chunked + line + b"\r\nhello\r\n0\r\n\r\n" + SECOND
    for end in SIZE_ENDS:
        yield f"size end {end!r}", chunked + b"5" + end + b"hello\r\n0\r\n\r\n" + SECOND
    for end in DATA_ENDS:
        yield f"data end {end!r}", chunked + b"5\r\nhello" + end + b"0\r\n\r\n" + SECOND
    for last in LAST_CHUNKS:
        yield f"last chunk {last!r}", chunked + b"5\r\nhello\r\n" + last + SECOND
    for line in REQUEST_LINES:
        yield f"request line {line!r}", line + b"\r\n" + HOST + b"\r\n" + SECOND
    yield "OPTIONS *", b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n"
    for before in BEGINNINGS:
        yield f"before {before!r}", before + SECOND + SECOND
    for host in HOSTS:
        yield f"host {host!r}", b"GET /@/first HTTP/1.1\r\n" + host + b"\r\n" + SECOND
    for i, line in enumerate(LINES):
        yield f"line {i} {line[:40]!r}", b"GET /@/first HTTP/1.1\r\nHost: a\r\n" + line + b"\r\n" + SECOND
    for end in (b"\n", b"\r", b"\n\r", b"\r\r\n", b"\r\n \r\n"):
        yield f"end of head {end!r}", b"GET /@/first HTTP/1.1\r\nHost: a\r\n" + end + SECOND
    for method in (b"GET", b"HEAD", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT"):
        body = b"Content-Length: %d\r\n\r\n" % len(SECOND)
        yield f"{method.decode()} with a body", method + b" /@/first HTTP/1.1\r\nHost: a\r\n" + body + SECOND + SECOND


ESCAPE = re.compile(r"\\(?:([rnt\\])|x([0-9a-fA-F]{2})|\*(\d+);((?:\\.)?.))", re.DOTALL)
LETTERS = {"r": "\r", "n": "\n", "t": "\t", "\\": "\\"}


def unescaped(text):
    """The bytes of an input of the vectors: vectors.hpp says how they are written."""

    def one(found):
        if found[1]:
            return LETTERS[found[1]]
        return chr(int(found[2], 16)) if found[2] else found[4] * int(found[3])

    return ESCAPE.sub(one, text).encode("latin-1", "ignore")


def vectors():
    """The public vectors of the repository that are requests, with a target of ours where it is "/"."""
    for file, columns in (("http11probe.tsv", 5), ("llhttp.tsv", 6)):
        for number, line in enumerate((VECTORS / file).read_text(encoding="utf-8").splitlines()):
            fields = line.split("\t")
            if line.startswith("#") or len(fields) < columns or (file == "llhttp.tsv" and "response" in fields[2]):
                continue
            text = unescaped("".join(fields[columns - 1 :]))
            yield f"{file} {number} {fields[0]}", text.replace(b" / HTTP", b" /@/ HTTP", 1)


def all_cases():
    yield from own()
    yield from vectors()
