"""Connections: opening them, also through a proxy or with TLS, and sockets that keep deadlines."""

from __future__ import annotations

import base64
import http.client
import ipaddress
import os
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from pytest_rageval.support.http.deadline import current, time_left, wait
from pytest_rageval.values.dataclass import dataclass

_BUFFERED_BYTES: Final = 16 * 1024
"""Length of a message that fits into the buffer of its socket, so that sending it does not wait."""
# Linux notes when data arrived. Python has no name for the option, whose number is another on a
# few old architectures.
_OLD_NUMBERS: Final = ("mips", "parisc", "sparc", "alpha")
_SO_TIMESTAMPNS: Final = (
    35 if sys.platform == "linux" and not os.uname().machine.startswith(_OLD_NUMBERS) else None
)
_TIMESPEC: Final = struct.Struct("@ll")
_ANCILLARY_BYTES: Final = 64


class TransportError(Exception):
    """End of an exchange before its reply was complete; the cause is the error of the system.

    Args:
        name: such as ``ConnectError`` or ``ReadTimeout``, for messages.
        text: the reason.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name

    @property
    def is_timeout(self) -> bool:
        """Whether a limit of time has passed."""
        return self.name.endswith("Timeout")


@contextmanager
def faults(doing: str) -> Iterator[None]:
    """Turn errors of the system and of HTTP into a ``TransportError``.

    Args:
        doing: ``Connect``, ``Read`` or ``Write``.
    """
    try:
        yield
    except TimeoutError as error:
        raise TransportError(f"{doing}Timeout", str(error)) from error
    except http.client.RemoteDisconnected as error:
        text = "Server disconnected without sending a response."
        raise TransportError("RemoteProtocolError", text) from error
    except http.client.HTTPException as error:
        # The base class itself is raised for too many headers.
        too_large = type(error) in {http.client.HTTPException, http.client.LineTooLong}
        name = "HeadTooLarge" if too_large else "RemoteProtocolError"
        raise TransportError(name, str(error) or type(error).__name__) from error
    except (OSError, UnicodeError) as error:  # no name of a host can be encoded so
        raise TransportError(f"{doing}Error", str(error)) from error


class Socket(socket.socket):
    """Socket whose waits end with the deadline of the thread and release its turn to compute."""

    limit_s: float | None = None
    """Limit of one wait; None: only the deadline limits it."""
    heard = ended = False
    """Whether anything, and whether the end, was received since this was set to false."""
    delivered = False
    """Whether all of the last message was handed to the system."""

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all data, and note the time."""
        if (deadline := current()) is not None:
            deadline.sending()
        rest, self.delivered = memoryview(data), False
        while rest:
            rest = rest[self.send(rest, flags) :]
        self.delivered = True

    def send(self, data: Any, flags: int = 0) -> int:
        """Send some of the data."""
        if len(data) <= _BUFFERED_BYTES:
            self.settimeout(time_left(self.limit_s))
            return super().send(data, flags)
        with wait(self.limit_s) as limit:
            self.settimeout(limit)
            return super().send(data, flags)

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        """Receive some data, and note when it arrived."""
        with wait(self.limit_s) as limit:
            self.settimeout(limit)
            n, arrived = self._receive(buffer, nbytes, flags)
            self.heard = self.heard or n > 0
            self.ended = n == 0
            # Before this thread waits for its turn, which does not count as the server's time.
            if (deadline := current()) is not None:
                deadline.received(time.time() - arrived if arrived else 0.0)
        return n

    def _receive(self, buffer: Any, nbytes: int | None, flags: int) -> tuple[int, float]:
        """Return the number of bytes, and the time of the last one since 1970; 0: unknown."""
        if _SO_TIMESTAMPNS is None:
            return super().recv_into(buffer, nbytes or 0, flags), 0.0
        n, ancillary, _, _ = super().recvmsg_into([buffer], _ANCILLARY_BYTES, flags)
        return n, _arrival(ancillary)


class _TlsSocket(Socket, ssl.SSLSocket):
    """The same with TLS."""

    def _receive(self, buffer: Any, nbytes: int | None, flags: int) -> tuple[int, float]:
        arrived = 0.0
        if _SO_TIMESTAMPNS is not None and not self.pending():
            # Below TLS: only there the system notes times.
            peeked = socket.socket.recvmsg(self, 1, _ANCILLARY_BYTES, socket.MSG_PEEK)
            arrived = _arrival(peeked[1])
        return ssl.SSLSocket.recv_into(self, buffer, nbytes or None, flags), arrived


def _arrival(ancillary: list[tuple[int, int, bytes]]) -> float:
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS) and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            return float(seconds + nanoseconds / 1e9)
    return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Way to a server."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    """None: HTTP without TLS."""
    proxy: SplitResult | None = None
    connect_s: float | None = None
    """Limit of finding the address, of connecting and of the handshake each; None: no own limit."""
    read_s: float | None = None
    """Limit of one wait for the server; None: no own limit."""

    @property
    def authority(self) -> str:
        """Host and port as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def proxy_authorization(self) -> str:
        """Value of the header for the proxy; empty: there is none."""
        if self.proxy is None or self.proxy.username is None:
            return ""
        return basic_auth(unquote(self.proxy.username), unquote(self.proxy.password or ""))

    @property
    def forwards(self) -> bool:
        """Whether a proxy receives the requests themselves."""
        return self.proxy is not None and self.tls is None

    @property
    def first_place(self) -> tuple[str, int]:
        """Host and port to connect to: those of the proxy, if there is one."""
        if self.proxy is None:
            return self.host, self.port
        return self.proxy.hostname or "", self.proxy.port or 80

    def connect(self) -> Socket:
        """Open a connection.

        Raises:
            TransportError: it cannot be opened within the limits.
        """
        proxy = self.proxy
        if proxy is not None and (proxy.scheme != "http" or not proxy.hostname):
            shown = f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}"
            raise TransportError("ProxyError", f"the proxy {shown}: expected an http:// address")
        with faults("Connect"):
            sock = self._connected(*self.first_place)
            try:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if _SO_TIMESTAMPNS is not None:
                    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
                sock.limit_s = self.connect_s
                if self.tls is not None:
                    sock = self._secured(sock, self.tls)
                sock.limit_s = self.read_s
            except BaseException:
                sock.close()
                raise
        return sock

    def _connected(self, host: str, port: int) -> Socket:
        # Only failed addresses use up the limit: this thread may wait long until it computes again.
        left = self.connect_s
        failure = OSError(f"no address for {host}")
        for family, address in _addresses(host, port, self.connect_s):
            sock = Socket(family, socket.SOCK_STREAM)
            try:
                with wait(left) as limit:
                    sock.settimeout(limit)
                    began = time.monotonic()
                    try:
                        sock.connect(address)
                        return sock
                    except OSError as error:
                        failure = error
                        left = left and left - (time.monotonic() - began)
            except BaseException:
                sock.close()
                raise
            sock.close()
        raise failure

    def _secured(self, sock: Socket, tls: ssl.SSLContext) -> Socket:
        if self.proxy is not None:
            self._tunnel(sock)
        with wait(self.connect_s) as limit:
            sock.settimeout(limit)
            secured = tls.wrap_socket(sock, server_hostname=self.host)
        assert isinstance(secured, Socket)  # by the class that the context names
        return secured

    def _tunnel(self, sock: Socket) -> None:
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [f"CONNECT {host}:{self.port} HTTP/1.1", f"Host: {host}:{self.port}"]
        if self.proxy_authorization:
            lines.append(f"Proxy-Authorization: {self.proxy_authorization}")
        sock.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        reply = http.client.HTTPResponse(sock, method="CONNECT")
        try:
            reply.begin()
            if not 200 <= reply.status < 300:
                raise TransportError("ProxyError", f"{reply.status} {reply.reason}")
        finally:
            reply.close()


def _addresses(host: str, port: int, limit_s: float | None) -> list[tuple[int, Any]]:
    """Return the family and the address of each place that a name stands for.

    Raises:
        OSError: there is none, or (``TimeoutError``) it was not found in time.
    """
    try:
        numeric = ipaddress.ip_address(host)
    except ValueError:
        return _look_up(host, port, limit_s)
    return [(socket.AF_INET if numeric.version == 4 else socket.AF_INET6, (host, port))]


def _look_up(host: str, port: int, limit_s: float | None) -> list[tuple[int, Any]]:
    # On a separate thread, since the time of a resolver cannot be limited.
    def look_up() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.put(list(dict.fromkeys((entry[0], entry[4]) for entry in found)))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    answers: SimpleQueue[list[tuple[int, Any]] | Exception] = SimpleQueue()
    with wait(limit_s) as limit:
        threading.Thread(target=look_up, name="rageval-resolve", daemon=True).start()
        try:
            answer = answers.get(timeout=limit)
        except Empty:
            raise TimeoutError(f"no address for {host} in time") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def find_route(url: str, *, by_proxy: bool, connect_s: float | None, read_s: float | None) -> Route:
    """Return the way to the server of a URL.

    Args:
        url: http or https URL.
        by_proxy: whether the proxies of the environment are used.
        connect_s: limit of each step of connecting.
        read_s: limit of one wait for the server.

    Raises:
        TransportError: the URL cannot be used.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").encode("idna").decode("ascii"), parts.port
    except ValueError as error:
        raise TransportError("InvalidURL", str(error)) from error
    if parts.scheme not in {"http", "https"} or not host:
        raise TransportError("UnsupportedProtocol", "the URL has no http:// or https:// and host")
    return Route(
        host=host,
        port=port or (443 if parts.scheme == "https" else 80),
        tls=_tls_context() if parts.scheme == "https" else None,
        proxy=_proxy(parts.scheme, parts.netloc.rpartition("@")[2]) if by_proxy else None,
        connect_s=connect_s,
        read_s=read_s,
    )


def _proxy(scheme: str, authority: str) -> SplitResult | None:
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    found = proxies.get(scheme) or proxies.get("all")
    if not found or proxy_bypass(authority):
        return None
    try:
        parts = urlsplit(found if "://" in found else f"http://{found}")
        return parts if parts.port != 0 else urlsplit("")
    except ValueError:
        return urlsplit("")  # which `connect` refuses


def _tls_context() -> ssl.SSLContext:
    """Return a context with the certificates of the environment, or else those of certifi."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and not folder:
        import certifi

        file = certifi.where()
    context = ssl.create_default_context(cafile=file or None, capath=None if file else folder)
    context.set_alpn_protocols(["http/1.1"])
    context.sslsocket_class = _TlsSocket
    return context


def basic_auth(user: str, password: str) -> str:
    """Return the value of a header for HTTP basic authentication."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
