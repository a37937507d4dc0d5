"""Reads files of other tools, and writes cases, corpora and exports.

Nothing is overwritten: cases are appended to a case file, and every other file must be new.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from glob import iglob
from pathlib import Path
from typing import Any, Final, Literal

from pytest_rageval.authoring.interchange.values import (
    ReadOptions,
    Source,
    SourceFile,
    fault,
    unfit,
)
from pytest_rageval.project.case_edit import append_texts, lines_by_id, read_file_lines
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.project.documents import Document
from pytest_rageval.support.files import UTF16_BOMS, named_errors, write_new_file
from pytest_rageval.support.http.address import Address, credentials_in, without_secrets
from pytest_rageval.support.http.bodies import TransportError
from pytest_rageval.support.http.exchange import Request, open_client, send
from pytest_rageval.support.reading import not_utf8
from pytest_rageval.support.text import clean, first_few, free_name, shown, whole_text
from pytest_rageval.support.threads import session_loop
from pytest_rageval.values.errors import DatasetError, Fault

LINES: Final = "corpus.jsonl"
"""File of a corpus whose documents keep their ids, in the layout of BEIR."""


def refuse_filled(folder: Path) -> None:
    """Refuse a folder that is not empty.

    Raises:
        DatasetError: it is a file, or not empty.
    """
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise DatasetError.of(folder.as_posix(), "exists", what="folder")


def write_corpus(folder: Path, documents: Iterable[Document], *, as_notes: bool) -> int:
    """Write documents to a new folder, all of them or none, and return their number.

    Args:
        folder: may be missing or empty.
        documents: written one at a time; each has a text.
        as_notes: one file for each at its path; else all as lines of ``corpus.jsonl``.

    Raises:
        DatasetError: the folder is not empty, cannot be written, or two documents have one path.
    """
    refuse_filled(folder)
    with named_errors(folder, DatasetError), _new_folder(folder) as unfinished:
        return (_write_notes if as_notes else _write_lines)(unfinished, documents)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder whose files get their place when it is complete."""
    folder = folder.absolute()  # "." has no name
    unfinished = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        if folder.is_dir():  # perhaps the working directory, which must stay
            for path in sorted(unfinished.iterdir()):
                path.rename(folder / path.name)
        else:
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write_notes(folder: Path, documents: Iterable[Document]) -> int:
    n = 0
    for one in documents:
        n += 1
        path = folder / one.rel_path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(_note(one))
        except FileExistsError:
            raise DatasetError.of(
                "", "same_path", found=repr(one.source_id), file=repr(one.rel_path)
            ) from None
    return n


def _note(document: Document) -> str:
    title = document.metadata.get("title")
    return f"# {title}\n\n{document.text}" if title else document.text or ""


def _write_lines(folder: Path, documents: Iterable[Document]) -> int:
    n = 0
    with (folder / LINES).open("x", encoding="utf-8", newline="\n") as file:
        for one in documents:
            n += 1
            title = one.metadata.get("title", "")
            line = {"_id": one.source_id, "title": title, "text": one.text}
            file.write(f"{json.dumps(line, ensure_ascii=False)}\n")
    return n


MAX_FILE_BYTES: Final = 512 * 1024 * 1024
_MAX_FILES: Final = 1000
_ADVICE: Final[Mapping[tuple[str, ...], str]] = {
    (".csv", ".tsv", ".xlsx", ".xls", ".ods"): '; save it again as "CSV UTF-8"',
    (".parquet", ".arrow"): "; write it as JSON Lines, as Dataset.to_json and pandas do",
    (".gz", ".zip", ".zst"): "; unpack it first",
}
"""Advice on a file that is not UTF-8, by the suffixes of its name."""
_NAMES: Final = ("id", "translation_of")

OnClash = Literal["refuse", "skip", "rename"]
Fetch = Callable[[str], str]
"""Returns the text behind a URL."""


# --- reading -------------------------------------------------------------------------------


def open_source(
    names: Sequence[str],
    options: ReadOptions,
    *,
    suffixes: Sequence[str],
    fetch: Fetch | None = None,
) -> Source:
    """Read the files that a user named.

    Args:
        names: files, folders, or URLs if fetching is allowed.
        options: for the reader.
        suffixes: of the files to read in a folder, two levels deep.
        fetch: fetches a URL; None: fetching is not allowed.

    Raises:
        DatasetError: a file cannot be read.
    """
    files: list[SourceFile] = []
    patterns = [f"{level}{suffix}" for level in ("*", "*/*") for suffix in suffixes]
    for name in names:
        if is_url(name):
            files.append(_fetched(name, fetch))
        elif Path(name).is_dir():
            files += [read_text_file(path) for path in _files_below(Path(name), patterns)]
        else:
            files.append(read_text_file(Path(name)))
    beside = partial(_read_beside, fetch=fetch)
    return Source(files=tuple(files), options=options, beside=beside)


def is_url(name: str) -> bool:
    """Whether a name is a web address and not a path."""
    return name.startswith(("http://", "https://"))


def _fetched(url: str, fetch: Fetch | None) -> SourceFile:
    name = without_secrets(url)
    if fetch is None:
        raise fault(name[:200], "url")
    return SourceFile(name=name, text=fetch(url))


def _files_below(folder: Path, patterns: Sequence[str]) -> list[Path]:
    names = {name for one in patterns for name in iglob(one, root_dir=folder, recursive=True)}
    found = [
        path
        for path in sorted(folder / name for name in names)
        if path.is_file() and path.resolve().is_relative_to(folder.resolve())
    ]
    if not found:
        raise fault(folder.as_posix(), "no_such_file", pattern=", ".join(patterns))
    if len(found) > _MAX_FILES:
        raise fault(folder.as_posix(), "many_files", n=len(found), most=_MAX_FILES)
    return found


def read_text_file(path: Path) -> SourceFile:
    """Read a text in UTF-8, or in UTF-16 with a mark, as spreadsheets write it.

    Raises:
        DatasetError: it cannot be read, is too large or is not such a text.
    """
    name = path.as_posix()
    with named_errors(path, DatasetError, "unreadable"), path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)  # of a pipe or a device without an end, too
    if len(data) > MAX_FILE_BYTES:
        raise fault(name, "large", most_mb=MAX_FILE_BYTES >> 20)
    encoding = "utf-16" if data.startswith(UTF16_BOMS) else "utf-8-sig"
    try:
        return SourceFile(name=name, text=data.decode(encoding))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        advice = next((one for ends, one in _ADVICE.items() if name.lower().endswith(ends)), "")
        byte = f"{data[error.start]:02x}"
        raise fault(name, "not_utf8", line=line, byte=byte, advice=advice) from None


def _read_beside(file: SourceFile, reference: str, *, fetch: Fetch | None) -> list[SourceFile]:
    """Read the files that another one refers to, only below the folder of the latter."""
    if is_url(reference):
        return [_fetched(reference, fetch)]
    if "://" in reference and not reference.startswith("file://"):
        raise unfit(file, reference, "a file beside it")
    if is_url(file.name):
        raise fault(file.name, "beside_url", found=shown(reference))
    folder = Path(file.name).parent
    path = (folder / reference.removeprefix("file://")).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise fault(file.name, "outside_folder", found=shown(reference))
    inside = path.relative_to(folder.resolve()).as_posix()
    paths = _files_below(folder, [inside]) if "*" in inside else [folder / inside]
    return list(map(read_text_file, paths))


# --- writing ---------------------------------------------------------------------------------


def write_new_files(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write files that do not exist yet below a folder.

    Raises:
        DatasetError: one exists, or cannot be written.
    """
    paths = [folder / name for name in files]
    refuse_existing(paths)
    for path, text in zip(paths, files.values(), strict=True):
        write_new(path, [text])
    return paths


def refuse_existing(paths: Iterable[Path]) -> None:
    """Refuse to overwrite existing files.

    Raises:
        DatasetError: with every file that exists.
    """
    if taken := [path for path in paths if os.path.lexists(path)]:
        raise _taken(taken)


def _taken(paths: Iterable[Path]) -> DatasetError:
    return DatasetError.of_faults(
        Fault(code="exists", facts={"what": "file"}, file=path.as_posix()) for path in paths
    )


def write_new(path: Path, pieces: Iterable[str]) -> None:
    """Write a new file whole or not at all.

    Raises:
        DatasetError: it exists, or cannot be written.
    """
    with named_errors(path, DatasetError):
        path.parent.mkdir(parents=True, exist_ok=True)
        written = write_new_file(path, (whole_text(piece).encode("utf-8") for piece in pieces))
    if not written:
        raise _taken([path])


def append_cases(path: Path, texts: Sequence[str]) -> None:
    """Append lines to a case file in one step; existing bytes are kept.

    Args:
        path: a case file, which may be missing.
        texts: one case each, as JSON without a line end.

    Raises:
        DatasetError: it cannot be read or written, or was changed in the meantime.
    """
    if path.exists():
        append_texts(path, texts)
    else:
        write_new(Path(os.path.realpath(path)), (f"{text}\n" for text in texts))


def add_case(path: Path, line: Mapping[str, Any]) -> None:
    """Add one valid case at the end of a case file, which may be missing.

    Raises:
        DatasetError: the case breaks a rule of case files, its id is taken, or the file cannot be
            read or written.
    """
    parse_case(line)
    if path.exists() and (taken := lines_by_id(read_file_lines(path)).get(line["id"])):
        raise DatasetError.of(
            f"{path}:{taken.number}",
            "duplicate",
            found=repr(line["id"]),
            owner="the id of this case",
        )
    append_cases(path, [json.dumps(line, ensure_ascii=False)])


def without_clashes(
    lines: Sequence[dict[str, Any]], taken: Mapping[str, int], on_clash: OnClash
) -> tuple[list[dict[str, Any]], dict[str, str | None]]:
    """Return the lines to write, and the handling of clashing ids.

    Args:
        lines: of the cases to add.
        taken: ids of the file with their line numbers.
        on_clash: refuse all of them, leave out or rename those that clash.

    Returns:
        The lines, and every clashing id with its new one (None: left out).

    Raises:
        DatasetError: ids clash and ``on_clash`` refuses them.
    """
    clashing = [line["id"] for line in lines if line["id"] in taken]
    if not clashing:
        return list(lines), {}
    if on_clash == "refuse":
        placed = [f"{one} (line {taken[one]})" for one in clashing]
        shown_ids = first_few(placed, 10)
        raise DatasetError.of("", "ids_taken", names=shown_ids)
    if on_clash == "skip":
        return [one for one in lines if one["id"] not in taken], dict.fromkeys(clashing)
    used = {*taken, *(line["id"] for line in lines)}
    renamed: dict[str, str | None] = {}
    for old in clashing:
        new = renamed[old] = free_name(old, used)
        used.add(new)
    return [
        {**line, **{key: renamed[line[key]] for key in _NAMES if line.get(key) in renamed}}
        for line in lines
    ], renamed


MAX_BYTES = 32 * 1024 * 1024
TIMEOUT_S = 30.0
"""Limit of one wait."""
WHOLE_S = 300.0
"""Limit of it all: a server that sends a byte now and then keeps any other."""


def fetch_text(url: str) -> str:
    """Return the text behind a URL. Redirects are not followed: they may lead anywhere.

    Raises:
        DatasetError: it cannot be fetched, is larger than 32 MB or is not UTF-8 text.
    """
    name = without_secrets(url)
    address = Address(url=url, credentials=credentials_in(url), shown=name, loopback=False)
    request = Request(
        address=address, content=b"", method="GET", max_bytes=MAX_BYTES, limit_s=WHOLE_S
    )
    try:
        limits = {"connect_s": TIMEOUT_S, "read_s": TIMEOUT_S}
        with open_client(address, headers={}, **limits) as http:
            reply = session_loop().run(send(http, request))
        if reply.status is not None and not reply.is_success:
            raise DatasetError.of(
                name, "http_file", n=reply.status, place="elsewhere" if reply.location else None
            )
        if reply.too_large:
            raise DatasetError.of(name, "large", most_mb=MAX_BYTES >> 20)
        if reply.fault is not None:
            raise reply.fault
    except TransportError as error:
        reason = clean(str(error), 160) or error.name
        raise DatasetError.of(name, "not_fetched", reason=reason) from error
    try:
        return reply.body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError.of_faults([not_utf8(error, file=name)]) from None
