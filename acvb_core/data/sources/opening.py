"""Open what people have, a file or a data frame, and read its columns as batches of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acvb_core.core.errors import ParameterError
from acvb_core.data.report import Fact, plural, tell_count
from acvb_core.data.sources import columnar, objects
from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.formats import FileLayout, Kind
from acvb_core.data.sources.frames import TRIMMED, FrameChoices, FrameRecords, FrameSource
from acvb_core.data.sources.records import RecordReader


def open_source(
    source: FileLike | Any,
    filename: str | None = None,
    *,
    kind: Kind | None = None,
    patient: bool = False,
    choices: FrameChoices | None = None,
) -> ByteSource | FrameSource:
    """Open a file, bytes, or a data frame: whatever has the Arrow stream or the dataframe protocol.

    `filename`, `kind` and `patient` as for `ByteSource`. A choice that the source does not have is a ParameterError.
    """
    choices = choices or FrameChoices()
    if objects.is_frame(source):
        _refuse_choices(choices, filename or "a data frame")
        return FrameSource(objects.open_object(source), filename or "the data frame", patient=patient)
    opened = ByteSource(source, filename, kind=kind, columns=True, patient=patient)
    try:
        frame = columnar.open_file(opened, choices)
        if frame is None:
            _refuse_choices(choices, opened.name)
            return opened
        return FrameSource(frame, opened.name, patient=patient, below=opened)
    except BaseException:
        opened.close()
        raise


def _refuse_choices(choices: FrameChoices, name: str) -> None:
    for option, value in choices.given_options().items():
        has = "sheets" if option == "sheet" else "tables"
        raise ParameterError(f"{name} has no {has}: leave out {option}={value!r}.")


def open_records(
    source: ByteSource | FrameSource,
    delimiter: str | None,
    *,
    encoding: str | None = None,
    header: bool = False,
    used: Sequence[int] | None = None,
    **options: Any,
) -> RecordReader | FrameRecords:
    """Return the records of a frame, of which some columns are `used`, or of a delimited text.

    The other arguments are of a text, as for `RecordReader`.
    """
    if isinstance(source, FrameSource):
        return FrameRecords(source, header=header, used=used)
    assert delimiter is not None
    return RecordReader(Utf8Stream(source, encoding), source.name, delimiter, header=header, **options)


def reading_facts(reader: RecordReader | FrameRecords, layout: FileLayout) -> list[Fact]:
    """Return the facts about reading the columns, once the records were read to their end."""
    facts = reader.facts() if isinstance(reader, FrameRecords) else _text_facts(reader, layout)
    used = layout.used_columns
    unused = [] if used is None else [i for i in range(layout.n_fields) if i not in used]
    if unused:
        known = dict(enumerate(layout.column_names))
        names = ", ".join(known.get(i, f"column {i + 1}") for i in unused[:5])
        more = ", …" if len(unused) > 5 else ""
        told = f"{plural(len(unused), 'column')} not used: {names}{more}."
        facts.append(Fact("unused_columns", len(unused), told))
    return facts


def _text_facts(reader: RecordReader, layout: FileLayout) -> list[Fact]:
    first = "names" if layout.header else "data"
    read = f"Read {plural(reader.lines_read, 'line')}; the first holds {first}."
    details = {"header": layout.header, "delimiter": layout.delimiter, "encoding": layout.encoding}
    facts = [Fact("lines", reader.lines_read, read, details)]
    if layout.encoding not in ("utf-8-sig", "utf-8"):
        facts.append(Fact("encoding", 0, f"The text was decoded as {layout.encoding}."))
    told = "{line that starts|lines that start} with # or % above the data: passed over."
    facts += tell_count("comment_lines", reader.comment_lines, told)
    facts += tell_count("blank_lines", reader.blank_lines, "{blank line}: passed over.")
    return facts + tell_count("trimmed", reader.trimmed, TRIMMED)
