"""Files that record each question and its answer, so that it can be asked again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .diagnostics import RxError
from .files import MAX_TEXT, Files
from .source import NOWHERE, Span
from .stored import BadWeights, Header

# The name of a method and its arguments as JSON values.
Question = tuple[str | int | bool | None, ...]


class RecordedFiles(Files):
    """`asked` has every question with its answer: a file's path, a digest of its content, the header of weights, or an error.
    It is `torn` if one question got two answers: something changed meanwhile."""

    def __init__(self, base: Path, roots: tuple[Path, ...] = ()) -> None:
        super().__init__(base, roots)
        self.torn = False
        self._answers: dict[Question, str] = {}

    @property
    def asked(self) -> list[tuple[Question, str]]:
        return list(self._answers.items())

    def answer(self, kind: str, *arguments: object) -> str:
        """Answer a recorded question anew; raises ValueError if it is not a question."""
        try:
            match kind, *arguments:
                case "find", str(path), (str() | None) as folder, bool(linked):
                    self.find(path, None if folder is None else Path(folder), linked=linked)
                case "has", str(path):
                    self.has(Path(path))
                case "read", str(path), int(limit):
                    self.read_found(Path(path), limit=limit)
                case "header", str(path), (str() | None) as key:
                    self.header(Path(path), key)
        except (RxError, BadWeights):
            pass  # the error is the answer
        return self._answers[(kind, *arguments)]  # type: ignore[arg-type]

    def find(self, path: str, relative_to: Path | None = None, span: Span = NOWHERE, *, linked: bool = False) -> Path:
        question = ("find", path, None if relative_to is None else str(relative_to), linked)
        with _Answered(self, question) as answered:
            answered.text = str(found := super().find(path, relative_to, span, linked=linked))
        return found

    def has(self, resolved: Path) -> bool:
        found = super().has(resolved)
        self.note(("has", str(resolved)), str(found))
        return found

    def read_found(self, found: Path, span: Span = NOWHERE, limit: int = MAX_TEXT) -> bytes:
        with _Answered(self, ("read", str(found), limit)) as answered:
            data = super().read_found(found, span, limit)
            answered.text = hashlib.sha256(data).hexdigest()
        return data

    def header(self, found: Path, key: str | None) -> Header:
        with _Answered(self, ("header", str(found), key)) as answered:
            answered.text = str(header := super().header(found, key))
        return header

    def note(self, question: Question, answer: str) -> None:
        self.torn = self.torn or self._answers.setdefault(question, answer) != answer


class _Answered:
    """Records the answer to a question, or the error."""

    def __init__(self, files: RecordedFiles, question: Question) -> None:
        self.files, self.question = files, question
        self.text = ""

    def __enter__(self) -> _Answered:
        return self

    def __exit__(self, kind: object, wrong: BaseException | None, trace: object) -> None:
        if wrong is None or isinstance(wrong, (RxError, BadWeights)):
            self.files.note(self.question, self.text if wrong is None else f"{type(wrong).__name__}: {wrong}")
