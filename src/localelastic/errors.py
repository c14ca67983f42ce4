"""Every error the package raises on purpose.

    LocalElasticError
    ├── InputError             what was passed cannot be measured       (also a ValueError)
    │   ├── DataError          examples: empty, not finite, several sizes ...
    │   │   ├── ReadError      a file that cannot be read as data
    │   │   └── ClassError     an unknown, too small or shared class
    │   ├── ModelError         a model that does not fit: output, parameters
    │   └── SettingError       a number or choice out of range
    │       └── MemoryBudgetError  less memory allowed than the work needs
    ├── MeasurementError       no step of the measurement had a meaning  (also a RuntimeError)
    └── OutputError            a result that cannot be written           (also an OSError)

A message says what was expected, what came, and what to do.
"""


class LocalElasticError(Exception):
    """Root of the tree above."""


class InputError(LocalElasticError, ValueError):
    """What was passed cannot be measured."""


class DataError(InputError):
    """The examples themselves are at fault."""


class ReadError(DataError):
    """A file or folder cannot be read as examples."""


class ClassError(DataError):
    """A class is unknown, has too few examples, or is on both sides."""


class ModelError(InputError):
    """The model does not fit the measurement."""


class SettingError(InputError):
    """A setting is out of its range."""


class MemoryBudgetError(SettingError):
    """The work does not fit into the memory that it was allowed."""


class MeasurementError(LocalElasticError, RuntimeError):
    """The measurement ran, but none of its steps had a meaning."""


class OutputError(LocalElasticError, OSError):
    """A result cannot be written where it was asked for."""
