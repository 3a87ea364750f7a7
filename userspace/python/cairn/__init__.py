# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Durable writes over RDMA: cairn's WRITE_PERSIST for Python.

Region   memory that keeps what is written into it
Target   serves a region to writers
Group    writes to some targets: a message counts when k of n have it
Log      appends records to a replicated log; records() reads them
Faults   loses, damages, delays and refuses packets of a device on demand

Failures of devices, connections and files are OSError with errno and words, wrong arguments
ValueError. Each class is a context manager. Documentation/python.rst begins with an example,
Documentation/persistence.rst says what is promised.
"""
from .faults import Faults, Rule
from .group import Group
from .log import Log, Record, records
from .region import Domain, Durability, Region
from .target import Target

__all__ = ['Domain', 'Durability', 'Faults', 'Group', 'Log', 'Record', 'Region', 'Rule', 'Target',
           'records']
