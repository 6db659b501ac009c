"""The end of a page: how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from betanll.reports.page import Block, Code, Heading, Table


def how_it_was_made(configuration: Mapping[str, str], command: str) -> Iterator[Block]:
    """Yield the end of a page: the settings and the command."""
    yield Heading("How this was made")
    if configuration:
        yield Table([], list(configuration.items()), label="Configuration")
    if command:
        yield Code(command)
