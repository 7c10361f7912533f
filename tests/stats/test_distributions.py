"""Functions of scipy are called by their names, and nothing of it is imported before."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.special

from equipoise.stats import distributions

CALLS = {
    "ndtr": (0.3,),
    "ndtri": (0.975,),
    "stdtr": (4, 1.2),
    "stdtrit": (4, 0.9),
    "bdtr": (3, 9, 0.4),
    "betaincinv": (2.0, 3.0, 0.7),
    "chdtrc": (2, 3.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_is_the_function_of_its_name(name: str) -> None:
    assert getattr(distributions, name)(*CALLS[name]) == getattr(scipy.special, name)(*CALLS[name])


def test_arrays_are_taken_as_scipy_takes_them() -> None:
    values = np.linspace(-2, 2, 5)
    np.testing.assert_array_equal(distributions.ndtr(values), scipy.special.ndtr(values))


def test_a_report_imports_no_scipy() -> None:
    code = "import sys, equipoise.report; print([name for name in sys.modules if name.startswith('scipy')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
