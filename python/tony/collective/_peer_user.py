"""Finds the user at the other end of an accepted connection, because every user of this machine can reach its ports."""

import os
import re
import socket
import struct
import sys

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_HEAD = struct.Struct("=IHHII")  # of a netlink message: length, type, flags, sequence, port
_REQUEST = struct.Struct("=BBBBI2s2s4s12x4s12xIII")  # struct inet_diag_req_v2, with addresses of version 4
_ANSWER = struct.Struct("=BBBB2s2s16s16sIIIIIIII")  # struct inet_diag_msg
_ALL_STATES = 0xFFFFFFFF
_NO_COOKIE = 0xFFFFFFFF
_SYN_SENT = 2
_MAPPED = bytes(10) + b"\xff\xff"  # the prefix of an IPv4 address in IPv6 form
_TABLE_LINE = re.compile(r"\s*\d+: (\w+):(\w+) (\w+):(\w+) (\w+) \S+ \S+ \S+ +(\d+) +\d+ (\d+) ")


def may_be_served(connection, is_own_address):
    """False for a program of another user of this machine, except root, and for one that has already closed the
    connection.

    For a peer on another machine the user is not known, and the result is True. ``connection``: a TCP connection over
    IPv4. ``is_own_address(address)``: whether the address belongs to this machine. OSError: the connection is broken.
    """
    peer, own = connection.getpeername(), connection.getsockname()
    user = _user_of(peer, own)
    if user is not None:
        return user in (os.geteuid(), 0)
    # A peer on this machine is known as long as it holds its end.
    return not (peer[0].startswith("127.") or peer[0] == own[0] or is_own_address(peer[0]))


def _user_of(end, other):
    """The user of the socket at the connection's ``end`` on this machine. None: there is no such socket, or only one
    that a program has closed or is still connecting."""
    user = _ask(end, other)
    # A kernel that finds this process's own end supports the question, so None is its answer. Otherwise ask /proc.
    return user if user is not None or _ask(other, end) is not None else _look_up(end, other)


def _ask(end, other):
    """Asks the kernel for one socket: sock_diag(7). None: there is none, or the kernel does not answer."""
    body = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ALL_STATES, struct.pack("!H", end[1]),
                         struct.pack("!H", other[1]), socket.inet_aton(end[0]), socket.inet_aton(other[0]), 0,
                         _NO_COOKIE, _NO_COOKIE)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.send(_HEAD.pack(_HEAD.size + len(body), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0) + body)
            answer = kernel.recv(4096, socket.MSG_DONTWAIT)
    except OSError:
        return None
    if len(answer) < _HEAD.size + _ANSWER.size or _HEAD.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None
    family, state, _, _, _, to_port, _, to, *_, user, inode = _ANSWER.unpack_from(answer, _HEAD.size)
    to = to[:4] if family == socket.AF_INET else to[len(_MAPPED):] if to.startswith(_MAPPED) else b""
    # If there is no such connection, the kernel returns the listening socket instead.
    is_it = to == socket.inet_aton(other[0]) and to_port == struct.pack("!H", other[1])
    return user if is_it and inode != 0 and state != _SYN_SENT else None


def _look_up(end, other):
    """Reads /proc/net/tcp and tcp6, for kernels that do not answer."""
    for table, as_there in (("tcp", bytes), ("tcp6", lambda address: _MAPPED + address)):
        # Each group of four bytes is one number in this machine's byte order.
        local, remote = ("".join(
            f"{int.from_bytes(part, sys.byteorder):08X}"
            for part in re.findall(b"(?s).{4}", as_there(socket.inet_aton(address)))) for address in (end[0], other[0]))
        wanted = (local, f"{end[1]:04X}", remote, f"{other[1]:04X}")
        try:
            with open(f"/proc/net/{table}", encoding="ascii") as lines:
                for line in lines:
                    found = _TABLE_LINE.match(line)
                    if found and found.group(1, 2, 3, 4) == wanted and int(found[7]) and int(found[5], 16) != _SYN_SENT:
                        return int(found[6])
        except OSError:
            pass  # the user is not known
    return None
