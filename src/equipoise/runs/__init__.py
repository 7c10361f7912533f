"""In: what a run asked, heard and measured.
Out: the files of its folder (`RunFolder`), and the folder read back, checked and typed (`Run`).
"""

from __future__ import annotations

from .folder import RunFolder
from .held import Held
from .measurements import Measurements
from .run import Part, Run, written

__all__ = ["Held", "Measurements", "Part", "Run", "RunFolder", "written"]
