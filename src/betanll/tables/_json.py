"""Records in JSON: one a line, or an array of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from betanll.sentences import shown
from betanll.tables._errors import fault
from betanll.tables._json_stream import JsonError, array_values, line_values
from betanll.tables._names import unique_names
from betanll.tables._options import ReadOptions
from betanll.tables._records import RecordFile
from betanll.tables._source import Source
from betanll.tables._text import Text, find_text


@dataclass(frozen=True)
class JsonFile(RecordFile):
    text: Text
    is_array: bool
    keys: tuple[str, ...]

    def _rows(self) -> Iterator[Sequence[Any]]:
        for record in _records(self.text, self.is_array):
            yield [record.get(key) for key in self.keys]


def open_json(source: Source, options: ReadOptions) -> JsonFile:
    """Find the names in all records, which need not have the same ones."""
    path = source.path
    options.refuse(path, "JSON files", "delimiter", "header", "skip_rows")
    found = find_text(source, options, has_comments=False)
    is_array = found.sample.lstrip().startswith("[")
    keys: dict[str, None] = {}
    for record in _records(found.text, is_array):
        keys.update(dict.fromkeys(record))
    if not keys:
        raise fault(path, "the records have no names")
    names = unique_names(list(keys))
    return JsonFile(
        source,
        names.columns,
        True,
        names.nameless,
        found.text,
        is_array,
        tuple(keys),
        missing=options.na_values,
        notes=(*found.notes, *names.notes),
    )


def _records(text: Text, is_array: bool) -> Iterator[dict[str, Any]]:
    """Yield the records, or raise for one that is not an object."""
    path, row = text.source.path, 0
    with text.opened() as handle:
        values = array_values(handle) if is_array else line_values(handle)
        while True:
            row += 1
            try:
                record = next(values)
            except StopIteration:
                return
            except JsonError as error:
                raise fault(path, f"row {row}: {error}") from None
            except RecursionError:
                raise fault(path, f"row {row} is nested too deeply") from None
            if not isinstance(record, dict):
                raise fault(
                    path,
                    f'row {row}: {shown(str(record))} is not a record like {{"x": 1}}',
                )
            yield record
