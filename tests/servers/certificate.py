"""A certificate for this machine, made when it is needed and trusted by nobody else."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

NO_OPENSSL = "no openssl on this machine"
REQUEST = """\
[req]
prompt = no
distinguished_name = name
x509_extensions = uses
[name]
CN = localhost
[uses]
subjectAltName = DNS:localhost, IP:127.0.0.1
basicConstraints = critical, CA:TRUE
keyUsage = critical, digitalSignature, keyCertSign
subjectKeyIdentifier = hash
"""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The files of a certificate that signs itself: who trusts it needs nothing but it."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """For the side that shows it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context

    def lines(self) -> list[str]:
        """For the configuration of a server that shows it, and trusts it in others."""
        files = {"cert": self.certificate, "key": self.key, "ca-cert": self.certificate}
        return [*(f"tls-{name}-file {file}" for name, file in files.items()), "tls-auth-clients no"]

    def url(self, port: int) -> str:
        """Of a server on this machine that shows it, for a client that trusts nothing else."""
        return f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={self.certificate}"


def make(folder: Path) -> Certificate | None:
    """A new one, or None if there is no openssl to make it with."""
    if shutil.which("openssl") is None:
        return None
    request, made = folder / "request.cnf", Certificate(folder / "certificate.pem", folder / "key.pem")
    request.write_text(REQUEST)
    words = ["openssl", "req", "-x509", "-days", "2", "-config", str(request)]
    words += ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    words += ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run(words, capture_output=True, check=True)
    return made
