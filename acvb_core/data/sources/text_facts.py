"""Facts about reading a delimited text: what was read, passed over or trimmed."""

from __future__ import annotations

from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.columns import FileLayout
from acvb_core.data.sources.frames import FrameRecords, FrameSource, frame_facts
from acvb_core.data.sources.records import RecordReader


def reading_facts(
    reader: RecordReader | FrameRecords, layout: FileLayout, source: ByteSource | FrameSource | None = None
) -> list[Fact]:
    """Return the facts about reading the columns, once they have been read to their end."""
    if isinstance(source, FrameSource) and isinstance(reader, FrameRecords):
        return [*frame_facts(source, reader), *_unused_columns(layout)]
    first = "names" if layout.header else "data"
    facts = [
        Fact(
            "lines",
            reader.lines_read,
            f"Read {plural(reader.lines_read, 'line')}; the first holds {first}.",
            {"header": layout.header, "delimiter": layout.delimiter, "encoding": layout.encoding},
        )
    ]
    if layout.encoding not in ("utf-8-sig", "utf-8"):
        facts.append(Fact("encoding", 0, f"The text was decoded as {layout.encoding}."))
    if reader.comment_lines:
        who = plural(reader.comment_lines, "line that starts", "lines that start")
        told = f"{who} with # or % above the data: passed over."
        facts.append(Fact("comment_lines", reader.comment_lines, told))
    if reader.blank_lines:
        blank = f"{plural(reader.blank_lines, 'blank line')}: passed over."
        facts.append(Fact("blank_lines", reader.blank_lines, blank))
    if reader.trimmed:
        facts.append(
            Fact("trimmed", reader.trimmed, f"{plural(reader.trimmed, 'field')} lost blanks around the text.")
        )
    return [*facts, *_unused_columns(layout)]


def _unused_columns(layout: FileLayout) -> list[Fact]:
    used = layout.used_columns
    unused = [] if used is None else [i for i in range(layout.n_fields) if i not in used]
    if not unused:
        return []
    names = ", ".join(
        layout.column_names[i] if i < len(layout.column_names) else f"column {i + 1}" for i in unused[:5]
    )
    more = ", …" if len(unused) > 5 else ""
    told = f"{plural(len(unused), 'column')} not used: {names}{more}."
    return [Fact("unused_columns", len(unused), told)]
