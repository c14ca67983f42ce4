"""Data sets that are fetched once, checked, and kept in the user's cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from localelastic.data.cifar import CIFAR
from localelastic.data.examples import Examples
from localelastic.data.idx import IDX
from localelastic.data.reading import Options, Source
from localelastic.errors import ReadError

_HOME = "LOCALELASTIC_DATA"
"""An environment variable: the folder to keep data in, instead of the user's cache."""


@dataclass(frozen=True)
class File:
    """One file of a data set: its name at all addresses, and its MD5 as published there."""

    name: str
    md5: str


@dataclass(frozen=True)
class Remote:
    """A data set elsewhere.

    Args:
        title: as it is called.
        addresses: where its files are, each to be tried.
        files: the first is the one to be read, others lie beside it.
        reader: of the file, or of the folder ``inside``.
        inside: the folder in an archive, or empty.
    """

    title: str
    addresses: tuple[str, ...]
    files: tuple[File, ...]
    reader: Source
    inside: str = ""


REMOTE = {
    "mnist-train": Remote(
        "MNIST, all 60,000 training images",
        (
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        (
            File("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
            File("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ),
        IDX,
    ),
    "fashion-mnist": Remote(
        "Fashion-MNIST, all 60,000 training images",
        ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
        (
            File("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
            File("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ),
        IDX,
    ),
    "cifar10": Remote(
        "CIFAR-10, all 50,000 training images",
        ("https://www.cs.toronto.edu/~kriz/",),
        (File("cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a"),),
        CIFAR,
        "cifar-10-batches-py",
    ),
}
"""By the name used at the command line."""


def fetched(name: str) -> Path:
    """Where a data set lies on this machine; fetched and checked the first time.

    Args:
        name: of ``REMOTE``.

    Raises:
        ReadError: it cannot be fetched, or what came is not what was published.
    """
    # With the network code behind it: only those who fetch need it.
    from pooch import Untar, os_cache, retrieve

    remote = REMOTE[name]
    home = Path(os.environ.get(_HOME) or os_cache("localelastic")).expanduser() / name
    get = partial(retrieve, path=home, processor=Untar(extract_dir=".") if remote.inside else None)
    paths = [_fetched(remote, file, home, get) for file in remote.files]
    return paths[0].parent / remote.inside if remote.inside else paths[0]


def _fetched(remote: Remote, file: File, home: Path, get: Callable[..., object]) -> Path:
    failed = ""
    for address in remote.addresses:
        try:
            get(address + file.name, known_hash=f"md5:{file.md5}", fname=file.name)
            return home / file.name
        # Whatever a server, a proxy or a disk can do; a wrong checksum is a ValueError.
        except Exception as error:
            failed = (str(error).splitlines() or [type(error).__name__])[0][:200]
    raise ReadError(
        f"cannot fetch {remote.title} ({failed}); put {file.name} into {home} yourself, "
        "or name a file or folder that you have"
    )


def _source(name: str, remote: Remote) -> Source:
    def read(_: Path, options: Options) -> Examples:
        found = remote.reader.read(fetched(name), options)
        return replace(found, source=f"{remote.title}; {found.source.rpartition('; ')[2]}")

    return Source(remote.title, lambda _: False, read)


SOURCES = {name: _source(name, remote) for name, remote in REMOTE.items()}
"""Each as :func:`localelastic.load_examples` takes it, by name."""
