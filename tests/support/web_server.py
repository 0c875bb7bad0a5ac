"""A web server of a few pages on this machine, by HTTP or HTTPS, that remembers who connected and what was asked."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def answer(
    body: bytes | str = b"", *, kind: str | None = "text/plain", status: str = "200 OK", **headers: str
) -> bytes:
    """A whole response; `location_` and the like name a header."""
    content = body.encode() if isinstance(body, str) else body
    given = {"Content-Length": str(len(content)), **({"Content-Type": kind} if kind else {})}
    given |= {name.strip("_").replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content


def moved(location: str, status: str = "302 Found") -> bytes:
    """A redirect."""
    return answer(status=status, location=location)


@dataclass(eq=False)
class WebServer:
    """`pages` has whole responses by path; None for one that never answers."""

    pages: Mapping[str, bytes | None]
    port: int = 0
    connections: int = 0
    requests: list[str] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    """What clients of HTTPS said that they were looking for."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and close."""
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.requests.append(request)
            page = self.pages.get(request.split()[1], answer("nothing here", status="404 Not Found"))
            if page is None:
                await reader.read()
            else:
                writer.write(page)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def web_server(
    pages: Mapping[str, bytes | None], *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[WebServer]:
    """A server that gives these pages."""
    web = WebServer(pages)
    if tls is not None:
        tls.sni_callback = lambda _connection, name, _context: web.names.append(name)
    server = await asyncio.start_server(web.serve, host, 0, ssl=tls)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
        await server.wait_closed()


def certified(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server of this name proves itself with, and what a client checks it by."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "server.pem"
    file.write_bytes(private + pem)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    client = ssl.create_default_context(cadata=pem.decode())
    return server, client
