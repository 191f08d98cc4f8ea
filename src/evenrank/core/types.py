"""Types that many modules share."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

FilePath = str | os.PathLike[str]
"""The path of a file or folder, as text or as a path object."""
Floats = NDArray[np.float64]
"""An array of numbers in double precision."""
