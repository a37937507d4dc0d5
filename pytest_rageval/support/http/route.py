"""Ways to a server: its address, its certificates, and the proxy that leads to it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from pytest_rageval.support.http.address import (
    Address,
    basic_credentials,
    credentials_in,
)
from pytest_rageval.support.http.bodies import TransportError
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import ConfigError

_HEADERS: Final = {
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "User-Agent": "pytest-rageval",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Way to a server, with what is sent with every request."""

    headers: Mapping[str, str]
    tls: ssl.SSLContext | None
    """None: HTTP without TLS."""
    proxy: str | None = None
    """URL without credentials; None: the server is reached directly."""
    proxy_headers: Mapping[str, str] | None = None
    """Sent to the proxy that opens a tunnel."""
    fault: TransportError | None = None
    """Error of every request, such as of a proxy that is not spoken to by HTTP."""
    connect_s: float | None = None
    """Limit of resolving, connecting and the handshake; None: no own limit."""
    read_s: float | None = None
    """Limit of one wait for the server; None: no own limit."""
    keepalive_s: float
    """Time after which an idle connection is closed."""


def find_route(
    address: Address,
    *,
    headers: Mapping[str, str],
    connect_s: float | None,
    read_s: float | None,
    keepalive_s: float,
) -> Route:
    """Return the way to the server of an address, through a proxy that the environment names.

    Raises:
        TransportError: the URL cannot be used.
        ConfigError: the certificates of the environment cannot be read.
    """
    try:
        parts = urlsplit(address.url)
        host, _ = (parts.hostname or "").encode("idna"), parts.port
    except ValueError as error:
        raise TransportError("InvalidURL", str(error)) from error
    if parts.scheme not in {"http", "https"} or not host:
        raise TransportError("UnsupportedProtocol", "the URL has no http:// or https:// and host")
    tls = _tls_context() if parts.scheme == "https" else None
    # A proxy would resolve a loopback address to itself; other addresses may be reachable only
    # through one.
    proxy = None if address.loopback else _proxy(parts)
    sent, fault, credentials = {**_HEADERS, **headers}, None, {}
    if proxy is not None:
        if proxy.scheme != "http" or not proxy.hostname:
            shown = f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}"
            fault = TransportError("ProxyError", f"the proxy {shown}: expected an http:// address")
        if (found := credentials_in(proxy.geturl())) is not None:
            credentials = {"Proxy-Authorization": f"Basic {basic_credentials(found)}"}
        if tls is None:
            sent |= credentials
    return Route(
        headers=sent,
        tls=tls,
        proxy=proxy and f"http://{proxy.netloc.rpartition('@')[2]}",
        proxy_headers=credentials,
        fault=fault,
        connect_s=connect_s,
        read_s=read_s,
        keepalive_s=keepalive_s,
    )


def _proxy(parts: SplitResult) -> SplitResult | None:
    from urllib.request import getproxies, proxy_bypass

    try:
        proxies = getproxies()
        found = proxies.get(parts.scheme) or proxies.get("all")
        if not found or proxy_bypass(parts.netloc.rpartition("@")[2]):
            return None
    except KeyError:  # pytest removed its variable of the test meanwhile, on another thread
        return _proxy(parts)
    try:
        proxy = urlsplit(found if "://" in found else f"http://{found}")
        return proxy if proxy.port != 0 else urlsplit("")
    except ValueError:
        return urlsplit("")  # which is refused


def _tls_context() -> ssl.SSLContext:
    """Return a context with the certificates of the environment, or else those of certifi.

    Raises:
        ConfigError: the certificates of the environment cannot be read.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    variables = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)]
    if not file and not folder:
        import certifi

        file = certifi.where()
    try:
        context = ssl.create_default_context(cafile=file or None, capath=None if file else folder)
    except OSError as error:
        place = ": ".join([*variables[:1], clean(str(file or folder), 500)])
        raise ConfigError.of(place, "unreadable", reason=error.strerror or error) from error
    context.set_alpn_protocols(["http/1.1"])
    return context
