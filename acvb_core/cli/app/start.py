"""`acvb app`: the app in the browser, served by Streamlit."""

from __future__ import annotations

import argparse
import errno
import importlib.util
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from acvb_core.cli.app import ready
from acvb_core.cli.cluster import VARIABLE
from acvb_core.core.errors import AcvbError, ParameterError

PORT, HOST = 8501, "127.0.0.1"
EVERYWHERE = "0.0.0.0"
#: Names of this machine for itself, which are always served.
OWN_NAMES = (HOST, "localhost", "::1")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def app(arguments: argparse.Namespace) -> int:
    """Serve the app until it is stopped; Streamlit takes this process over, so that signals reach it."""
    command = build_command(arguments.host, arguments.port, arguments.allow)
    script = find_app()
    _refuse_unusable_address(arguments.host, arguments.port)
    os.chdir(script.parent)
    if arguments.scheduler:
        os.environ[VARIABLE] = arguments.scheduler
    shown = _shown_address(arguments.host)
    subprocess.Popen([sys.executable, ready.__file__, shown, str(arguments.port), str(os.getpid())])
    if os.name == "nt":  # there exec leaves the shell alone with the app
        return subprocess.call(command)
    os.execv(command[0], command)


def build_command(host: str, port: int, allow: Sequence[str]) -> list[str]:
    """Return how Streamlit is started to listen on an address and to serve these further names.

    Raises ParameterError: the address or a name is not valid.
    """
    if not _NAME.fullmatch(host):
        raise ParameterError(
            f"--host is {host!r}. It takes a name or an IPv4 address without a port, such as 192.168.1.5."
        )
    if host == EVERYWHERE and not allow:
        raise ParameterError(f"--host {host} also needs --allow and the name that browsers open.")
    hosts = [*OWN_NAMES, *([] if host in (*OWN_NAMES, EVERYWHERE) else [host])]
    options = [f"--server.port={port}", f"--server.address={host}"]
    options += [f"--browser.serverAddress={_shown_address(host)}"]
    for name in allow:
        bare = re.sub(r":\d{1,5}$", "", name)
        if not _NAME.fullmatch(bare):
            raise ParameterError(
                f"--allow is {name!r}. It takes a name without http:// or a path, such as example.org or "
                "example.org:8443."
            )
        hosts.append(bare)
        options += [f"--server.corsAllowedOrigins={scheme}://{name}" for scheme in ("http", "https")]
    options += [f"--server.allowedHosts={name}" for name in hosts]
    return [sys.executable, "-m", "streamlit", "run", "app.py", *options]


def find_app() -> Path:
    """Return the script of the app, which is next to the package in a checkout.

    Raises AcvbError: it or Streamlit is not there.
    """
    script = Path(__file__).resolve().parents[3] / "app.py"
    if not (script.is_file() and (script.parent / "pages").is_dir()):
        raise AcvbError(
            f"the app is not installed with the package: {script.parent} has no app.py with its pages. Get the whole "
            "project, and run script/server or python -m acvb_core app in its folder."
        )
    if importlib.util.find_spec("streamlit") is None:
        raise AcvbError(
            f"the app needs Streamlit, which this Python does not have ({sys.executable}). Run script/server, or "
            "pip install -r requirements.txt."
        )
    return script


def _shown_address(host: str) -> str:
    return HOST if host == EVERYWHERE else host


def _refuse_unusable_address(host: str, port: int) -> None:
    with socket.socket() as probe:
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                other = port + 1 if port < 65535 else PORT + 1
                raise ParameterError(
                    f"port {port} is in use. Choose another one, as in --port {other}."
                ) from None
            raise ParameterError(
                f"the app cannot listen on {host}, port {port} ({error.strerror}). Choose another --host or --port."
            ) from None
