"""Invalid or ambiguous JSON lines.

The printable ones are in `hostile.txt`, one per line; here are binary and long ones.
"""

from pathlib import Path

DEEP = 100_000

TEXT = Path(__file__).with_name("hostile.txt").read_bytes().splitlines()

CONTROL = [
    b'1\x00', b'"\t"', b'"a\tb"', b'"\x00"', b'"\x01"', b'"\x1f"', b'"\x0b"', b'"\r"',
]  # fmt: skip

NO_UNICODE = [
    b'\xff', b'\xfe', b'\xc3', b'\xc3(', b'\xa0\xa1', b'\xe2(\xa1', b'\xe2\x82(',
    b'\xf0(\x8c\xbc', b'\xf0\x90(\xbc', b'\xf8\xa1\xa1\xa1\xa1', b'\xfc\xa1\xa1\xa1\xa1\xa1',
    b'\xc0\xaf', b'\xc1\x81', b'\xe0\x80\xaf', b'\xf0\x80\x80\xaf', b'\xed\xa0\x80',
    b'\xed\xbf\xbf', b'\xed\xa0\x80\xed\xb0\x80', b'\xf4\xbf\xbf\xbf', b'\xf5\x80\x80\x80',
    b'\x80', b'\xbf', b'\x81a', b'\xf4\x90\x80\x80',
]  # fmt: skip

WHOLE = [
    b"\xef\xbb\xbf{}", b"\xef\xbb\xbf", b"\xfe\xff\x00{\x00}", b"\xff\xfe{\x00}\x00", b"{\x00}",
    b"\x00", b"{}\x00", b"\x00{}", b"\x0c", b"[1]\x0c", b"\x0b[]", b"\xc2\xa0[]", b"[]\xc2\xa0",
    b"\xe2\x80\xa8[]", b"\xe2\x81\xa0[]", b"\xc2\x85[]",
    b"[" * DEEP, b'{"a":' * DEEP, b"[" * DEEP + b"]" * DEEP,
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b"[" * 65 + b"]" * 65,
    b'{"a":' * 65 + b"1" + b"}" * 65, b'[{"a":' * 40 + b"1" + b"}]" * 40,
    b"1" * 5_000, b"-" + b"9" * 5_000, b"[" + b"1," * 1_000, b'"' + b"a" * 100_000,
    b"GET / HTTP/1.1\r", b"Content-Length: 20\r", b"POST /rpc HTTP/1.1",
    b"\x16\x03\x01\x02\x00\x01\x00", b"\x1b[2J\x1b[H", b'<?xml version="1.0"?>', b"; rm -rf /",
]  # fmt: skip

LINES: list[bytes] = [
    *TEXT,
    *CONTROL,
    *(b'"' + text + b'"' for text in NO_UNICODE),
    *(b'{"jsonrpc":"2.0","id":"' + text + b'","method":"ping"}' for text in NO_UNICODE),
    *WHOLE,
]

VALID: list[bytes] = [
    b'null', b'true', b'false', b'0', b'-0', b'1', b'-1', b'1.5', b'1e5', b'1E5', b'1e+5',
    b'1e-5', b'0e1', b'0e+1', b'-0.0', b'1e-400', b'18446744073709551615',
    b'-9223372036854775808', b'123456789.123456789', b'""', b'"a"', b'"\\u0061"',
    b'"\\ud83d\\ude00"', b'"\\uD834\\uDD1E"', b'"\\u0000"', b'"\\u001f"',
    b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', b'"\xc3\xa9"', b'"\xf0\x9f\x98\x80"', b'"\xe2\x80\xa8"',
    b'"\x7f"', b'"\\uffff"', b'"\xef\xbf\xbf"', b'[1]', b'[[]]', b'[{}]', b' [1] ', b'\t[1]\r',
    b'[1 , 2]', b'{"":0}', b'{"a":{"a":1}}', b'{"a":[],"b":{}}', b'{"a":1,"A":2}',
    b'{"a\\u0000b":1}', b'{"min":-1.0e+28,"max":1.0e+28}',
    b"[" * 64 + b"]" * 64, b"[" + b"0," * 10_000 + b"0]", b'["' + b"a" * 100_000 + b'"]',
]  # fmt: skip
