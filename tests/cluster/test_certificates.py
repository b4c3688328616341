"""A cluster with certificates: runs are computed there, by Dask's own settings, and nobody comes in without one."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

import dask
import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from distributed import LocalCluster, Security

from acvb_core.cluster.backend import DaskExecutor
from acvb_core.cluster.local import LOOPBACK
from acvb_core.core.errors import AcvbError
from acvb_core.engine.fitting import solve
from tests.engine.fakes import small_run


def write_certificate(folder: Path) -> tuple[str, str]:
    """Write a certificate for this machine that signs itself; return its file and that of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a cluster of the tests")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return str(paths[0]), str(paths[1])


def settings_of(certificate: str, key: str) -> dict[str, str]:
    """Return Dask's settings of a client that docs/cluster.md names."""
    tls = "distributed.comm.tls"
    return {f"{tls}.ca-file": certificate, f"{tls}.client.cert": certificate, f"{tls}.client.key": key}


def test_runs_go_to_a_cluster_with_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    certificate, key = write_certificate(tmp_path)
    stranger = write_certificate(tmp_path / "other")
    parts = ("scheduler", "worker", "client")
    given = {
        f"tls_{part}_{what}": path for part in parts for what, path in (("cert", certificate), ("key", key))
    }
    security = Security(tls_ca_file=certificate, require_encryption=True, **given)
    prepared = small_run("vb")
    here = solve(prepared).snapshot.posterior
    monkeypatch.setattr("acvb_core.cluster.backend.PATIENCE", 3.0)
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        security=security,
        protocol="tls",
        host=LOOPBACK,
        dashboard_address=f"{LOOPBACK}:0",
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        with dask.config.set(settings_of(certificate, key)):
            executor = DaskExecutor.connect(address)
            found = solve(prepared, executor=executor).snapshot.posterior
            assert all(np.array_equal(found[name], here[name]) for name in here.arrays)
            executor.client.close()
        with (
            dask.config.set(settings_of(*stranger)),
            pytest.raises(AcvbError, match="No Dask scheduler answers"),
        ):
            DaskExecutor.connect(address)
        with pytest.raises(AcvbError, match="No Dask scheduler answers"):
            DaskExecutor.connect(address.replace("tls", "tcp"))
