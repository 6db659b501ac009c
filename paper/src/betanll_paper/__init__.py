"""Seitzer et al. (ICLR 2022) with betanll: every experiment, table and figure.

The package uses the public names of :mod:`betanll` alone. It adds the commands
``reproduce``, ``data``, ``depth`` and ``bench`` to ``betanll``.
"""

__version__ = "0.2.0"
