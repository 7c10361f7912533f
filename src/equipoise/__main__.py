"""`python -m equipoise` and the command `equipoise`: an interruption is one sentence, also while the rest is loaded."""

from __future__ import annotations

from .interruption import listen


def main() -> None:
    """Run the command line."""
    listen()
    from .cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
