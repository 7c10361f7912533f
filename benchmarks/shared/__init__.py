"""In: what several benchmarks need: options, models, prompts, outcomes, a browser.
Out: the same for each of them; the parts of the tests can be imported, too.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "parts"))
