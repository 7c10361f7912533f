"""The options of a survey's pages."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...steps import BuildError
from ..entrance import EntranceTest, KnownQuestion
from ..panel import PanelOptions
from .guard import Limits, Site
from .texts import Texts, read_texts

TOKEN_BITS = 128


@dataclass(frozen=True)
class SurveyOptions:
    """The entrance test, the administrator's token, panels, texts, what raters are asked beyond the questions."""

    test: EntranceTest
    admin_token: str
    panel: PanelOptions = field(default_factory=PanelOptions)
    texts: Texts = field(default_factory=read_texts)
    checks: tuple[KnownQuestion, ...] = ()
    asks_locale: bool = False
    allows_unsure: bool = False
    allows_comments: bool = True
    secure_cookie: bool = False
    simulated: bool = False
    limits: Limits = field(default_factory=Limits)
    site: Site = field(default_factory=Site)

    def __post_init__(self) -> None:
        check_token(self.admin_token)


def check_token(token: str) -> None:
    """Raise BuildError unless the token can hold 128 bits: 22 characters, of at least 10 kinds."""
    if len(token) < 22 or len(set(token)) < 10:
        raise BuildError(
            f"the administrator's token must have at least {TOKEN_BITS} bits: 22 random characters or more, such as "
            "`openssl rand -base64 24` prints"
        )
