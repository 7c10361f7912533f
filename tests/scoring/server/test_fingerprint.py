"""A served model is recognised by its answers."""

from __future__ import annotations

from typing import Any

from served import opened

from equipoise.scoring.engine import identity_key


def test_another_model_under_the_same_name_is_noticed_and_the_same_one_recognised(serve: Any) -> None:
    first, again, other = opened(serve()), opened(serve()), opened(serve(seed=1))
    assert identity_key(first) == identity_key(again) != identity_key(other)
    assert identity_key(opened(serve())) == identity_key(first)
