"""Running a tutorial as its reader does: files written, commands run, output compared.

- A ``console`` block: each command runs in the folder that the one before left. A comment
  ``# exit code N`` names a code other than 0. ``pip install`` is left out.
- A ``text`` block after it: lines that the last block printed, in this order; a line ``...`` stands
  for any. Run ids, seconds and changes of speed may differ.
- A block after a paragraph that ends in ``Write `path`:`` is that file, after ``Add to `path`:``
  its end; after ``Change `path`:`` lines with ``-`` go and lines with ``+`` come.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.examples import Block, sections

_CODE = re.compile(r"\s+# exit code (\d+)$")
_FASTER = re.compile(r";\s+calls [\d.]+ times (?:faster|slower)\s+\([^)]*\)")
_FILE = re.compile(r"\b(?P<verb>Write|Add to|Change) `(?P<path>[\w./-]+)`:$")
_ROOT = Path(__file__).resolve().parents[2]


def scrub(text: str) -> list[str]:
    """Return the lines of a text without what differs from run to run."""
    lines = []
    for line in _FASTER.sub("", text).splitlines():
        line = re.sub(r"\d{8}-\d{4}-[0-9a-f]{4}", "RUN", line)
        line = re.sub(r"(latency_ms\.\S+).*", r"\1", line)
        line = re.sub(r"\d+(\.\d+)? ?m?s\b", "T", line)
        lines.append(" ".join(line.strip("= ").split()))
    return lines


def missing_part(shown: str, printed: str) -> str | None:
    """Return the first part of a shown text that was not printed in this order; None: all were."""
    lines = scrub(printed)
    start = 0
    for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE):
        wanted = scrub(part)
        places = range(start, len(lines) - len(wanted) + 1)
        found = next((at for at in places if lines[at : at + len(wanted)] == wanted), None)
        if found is None:
            return part
        start = found + len(wanted)
    return None


@dataclass
class Reader:
    """Reader of a tutorial, with a folder of their own."""

    folder: Path
    printed: str = ""
    """Output of the last console block."""
    n_commands: int = 0
    faults: list[str] = field(default_factory=list)
    start: Path = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.folder

    def follow(self, document: str) -> None:
        """Do what each block says, and note what is not as shown."""
        for section in sections(document):
            for block in section.blocks:
                self._do(block)

    def _do(self, block: Block) -> None:
        named = _FILE.search(block.between)
        if block.language == "console":
            self._run(block)
        elif named:
            self._write(self.folder / named["path"], named["verb"], block.text)
        elif block.language == "text":
            part = missing_part(block.text, self.printed)
            if part is not None:
                self.faults.append(f"line {block.line}: not printed:\n{part}\nbut\n{self.printed}")

    def _run(self, block: Block) -> None:
        self.printed = ""
        left_in = self.start / "left-in.txt"
        for command in block.text.replace("\\\n", "").splitlines():
            if not command or command.startswith(("#", "pip install ")):
                continue
            expected = _CODE.search(command)
            done = subprocess.run(
                ["bash", "-c", f'{command}\ncode=$?; pwd >"$LEFT_IN"; exit $code'],
                cwd=self.folder,
                env={**_environment(), "LEFT_IN": str(left_in)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                encoding="utf-8",
                check=False,
            )
            self.folder = Path(left_in.read_text(encoding="utf-8").strip())
            self.n_commands += 1
            self.printed += done.stdout
            if done.returncode != (int(expected[1]) if expected else 0):
                self.faults.append(
                    f"line {block.line}: {command}: exit code {done.returncode}\n{done.stdout}"
                )

    def _write(self, path: Path, verb: str, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if verb != "Write":
            old = path.read_text(encoding="utf-8")
            text = old + text if verb == "Add to" else _changed(old, text)
        path.write_text(text, encoding="utf-8")


def _changed(text: str, difference: str) -> str:
    """Return a text with the lines of a difference exchanged, which must occur once."""
    lines = difference.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] != "+")
    after = "".join(line[1:] for line in lines if line[0] != "-")
    assert text.count(before) == 1, f"{text.count(before)} times in the file:\n{before}"
    return text.replace(before, after)


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("RAGEVAL_", "PYTEST_", "GIT_"))
    }
    python_path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
    git = {"GIT_CONFIG_GLOBAL": os.devnull}
    for who in ("AUTHOR", "COMMITTER"):
        git |= {f"GIT_{who}_NAME": "Reader", f"GIT_{who}_EMAIL": "reader@example.com"}
    return {
        **kept,
        **git,
        "PATH": path,
        "COLUMNS": "80",
        "PYTHONPATH": python_path,
        "NO_COLOR": "1",
    }
