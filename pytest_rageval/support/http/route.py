"""Ways to a server: finding and opening a connection, also through a proxy or with TLS."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from pytest_rageval.support.http.address import basic_credentials, bracketed, credentials_in
from pytest_rageval.support.http.connection import Socket, TlsSocket, TransportError, faults
from pytest_rageval.support.http.deadline import waited
from pytest_rageval.support.http.reading import Reader
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import ConfigError

_UNDER_WAY: Final = (errno.EINPROGRESS, errno.EWOULDBLOCK)


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
        host = bracketed(self.host)
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def proxy_authorization(self) -> str:
        """Value of the header for the proxy; empty: there is none."""
        return "" if self.proxy is None else basic_auth(credentials_in(self.proxy.geturl()))

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
                sock.note_arrivals()
                sock.limit_s = self.connect_s
                if self.tls is not None:
                    sock = self._secured(sock, self.tls)
                sock.limit_s = self.read_s
            except BaseException:
                sock.close()
                raise
        return sock

    def _connected(self, host: str, port: int) -> Socket:
        left = self.connect_s
        failure = OSError(f"no address for {host}")
        for family, address in _addresses(host, port, self.connect_s):
            sock = Socket(family, socket.SOCK_STREAM)
            try:
                sock.settimeout(0)
                code = sock.connect_ex(address)
                if code in _UNDER_WAY:
                    left = waited(left, partial(sock.is_ready, to_send=True))
                    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if not code:
                    return sock
                # On Windows, strerror does not know the errors of sockets.
                texts: dict[int, str] = getattr(socket, "errorTab", {})
                failure = OSError(code, texts.get(code) or os.strerror(code))
            except BaseException:
                sock.close()
                raise
            sock.close()
        raise failure

    def _secured(self, sock: Socket, tls: ssl.SSLContext) -> Socket:
        if self.proxy is not None:
            self._tunnel(sock)
        secured = tls.wrap_socket(sock, server_hostname=self.host, do_handshake_on_connect=False)
        assert isinstance(secured, Socket)  # by the class that the context names
        left, shaken = self.connect_s, False
        try:
            while not shaken:
                try:
                    secured.do_handshake()
                    shaken = True
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
                    sends = isinstance(error, ssl.SSLWantWriteError)
                    left = waited(left, partial(secured.is_ready, to_send=sends))
        except BaseException:
            secured.close()
            raise
        return secured

    def _tunnel(self, sock: Socket) -> None:
        place = f"{bracketed(self.host)}:{self.port}"
        lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
        if self.proxy_authorization:
            lines.append(f"Proxy-Authorization: {self.proxy_authorization}")
        sock.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        reply = Reader(sock, "CONNECT")
        try:
            reply.read_head()
        except TransportError as error:
            if error.is_timeout:
                raise TimeoutError(str(error)) from error
            raise
        if not 200 <= reply.status < 300:
            raise TransportError("ProxyError", f"{reply.status} {reply.reason}")


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
    if host == "localhost":  # which no resolver asks another machine for (RFC 6761)
        return _resolved(host, port)

    # On a separate thread, since the time of a resolver cannot be limited.
    def look_up() -> None:
        try:
            answers.put(_resolved(host, port))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    def answered(seconds: float) -> bool:
        with suppress(Empty):
            found.append(answers.get(timeout=seconds))
        return bool(found)

    answers: SimpleQueue[list[tuple[int, Any]] | Exception] = SimpleQueue()
    found: list[list[tuple[int, Any]] | Exception] = []
    threading.Thread(target=look_up, name="rageval-resolve", daemon=True).start()
    try:
        waited(limit_s, answered)
    except TimeoutError:
        raise TimeoutError(f"no address for {host} in time") from None
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _resolved(host: str, port: int) -> list[tuple[int, Any]]:
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((entry[0], entry[4]) for entry in entries))


def find_route(url: str, *, by_proxy: bool, connect_s: float | None, read_s: float | None) -> Route:
    """Return the way to the server of a URL, ``by_proxy`` through one that the environment names.

    Raises:
        TransportError: the URL cannot be used.
        ConfigError: the certificates of the environment cannot be read.
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

    try:
        proxies = getproxies()
        found = proxies.get(scheme) or proxies.get("all")
        if not found or proxy_bypass(authority):
            return None
    except KeyError:  # pytest removed its variable of the test meanwhile, on another thread
        return _proxy(scheme, authority)
    try:
        parts = urlsplit(found if "://" in found else f"http://{found}")
        return parts if parts.port != 0 else urlsplit("")
    except ValueError:
        return urlsplit("")  # which `connect` refuses


def _tls_context() -> ssl.SSLContext:
    """Return a context with the certificates of the environment, or else those of certifi.

    Raises:
        ConfigError: the certificates of the environment cannot be read.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    variable = "SSL_CERT_FILE: " if file else "SSL_CERT_DIR: " if folder else ""
    if not file and not folder:
        import certifi

        file = certifi.where()
    try:
        context = ssl.create_default_context(cafile=file or None, capath=None if file else folder)
    except OSError as error:
        reason = error.strerror or str(error)
        place = f"{variable}{clean(str(file or folder), 500)}"
        raise ConfigError(f"{place}: the certificates cannot be read: {reason}") from error
    context.set_alpn_protocols(["http/1.1"])
    context.sslsocket_class = TlsSocket
    return context


def basic_auth(credentials: tuple[str, str] | None) -> str:
    """Return the value of a header for HTTP basic authentication; empty: there is none."""
    return f"Basic {basic_credentials(credentials)}" if credentials else ""
