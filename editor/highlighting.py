"""Syntax files for editors, generated from the words of the language: a TextMate grammar, snippets, files for Vim and Emacs.

`python -m rxlang.editor.highlighting` writes the files below editors/; a test compares them with the generated text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import words

ROOT = Path(__file__).resolve().parents[1]


def alternatives(names: Iterable[str]) -> str:
    return f"\\b(?:{'|'.join(sorted(names))})\\b(?!')"


def textmate() -> dict[str, Any]:
    """The grammar for VS Code and Shiki."""
    rules = [
        ("comment.line.number-sign.rx", "#.*$"),
        ("string.quoted.double.rx", r'"(?:[^"\\\n]|\\.)*"?'),
        ("storage.type.rx", alternatives(("let", "const", "type", "fn"))),
        ("storage.modifier.rx", alternatives(("inline", "private", "extern", "prim", "checkpoint"))),
        ("keyword.control.rx", alternatives(set(words.KEYWORDS) - _STORAGE)),
        ("constant.language.rx", alternatives(words.CONSTANTS)),
        ("support.type.rx", alternatives((*words.TYPES, *words.DTYPE_NAMES))),
        ("support.function.rx", f"@(?:{'|'.join(words.primitives())})\\b(?![\\w'.]|\\s*=[^=])"),
        ("entity.name.function.rx", words.TOKENS["FN_NAME"].replace("*+", "*")),
        ("constant.numeric.rx", r"\b[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?\b"),
        ("keyword.operator.rx", r"\*\*|//|==|!=|<=|>=|&&|\|\||[-+*/%<>=!]"),
        ("variable.other.rx", words.TOKENS["NAME"]),
    ]
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "Rx",
        "scopeName": "source.rx",
        "patterns": [{"name": name, "match": match} for name, match in rules],
    }


_STORAGE = {"let", "const", "type", "fn", "inline", "private", "extern", "prim", "checkpoint"}


def snippets() -> dict[str, Any]:
    """The snippets of VS Code."""
    tensor = "Tensor([${3:n}], float32)"
    return {
        "function": _snippet("fn", f"@${{1:f}} = fn(${{2:x}} : {tensor}) : {tensor} {{", "  $0", "}"),
        "let": _snippet("let", "let ${1:y} = $0"),
        "import": _snippet("import", 'import "${1:file}.rx" as ${2:name}'),
        "const": _snippet("const", f'const ${{1:w}} : {tensor} = load("${{2:weights.safetensors}}", "${{1:w}}")'),
        "for": _snippet(
            "for", f"for ${{1:i}} in range(${{2:n}}) with (${{4:acc}} : {tensor} = ${{5:x}}) {{", "  $0", "}"
        ),
        "if": _snippet("if", "if (${1:n == 1}) {", "  $2", "} else {", "  $0", "}"),
        "assert": _snippet("assert", "assert ${1:n >= 1}"),
    }


def _snippet(prefix: str, *body: str) -> dict[str, Any]:
    return {"prefix": prefix, "body": list(body)}


def vim() -> str:
    """The syntax file for Vim and Neovim."""
    rows = (
        ("rxKeyword", "Keyword", words.KEYWORDS),
        ("rxBoolean", "Boolean", words.CONSTANTS),
        ("rxType", "Type", (*words.TYPES, *words.DTYPE_NAMES)),
    )
    lines = ['" Written by editor/highlighting.py.', "if exists('b:current_syntax') | finish | endif"]
    lines += [f"syntax keyword {group} {' '.join(names)}" for group, _, names in rows]
    lines += [
        "syntax match rxComment /#.*$/ contains=@Spell",
        'syntax region rxString start=/"/ skip=/\\\\./ end=/"/ oneline',
        "syntax match rxNumber /\\<[0-9][0-9_]*\\(\\.[0-9_]\\+\\)\\?\\([eE][+-]\\?[0-9]\\+\\)\\?\\>/",
        "syntax match rxFunction /@[A-Za-z_][A-Za-z0-9_.']*/",
    ]
    groups = [*((g, to) for g, to, _ in rows), ("rxComment", "Comment"), ("rxString", "String")]
    groups += [("rxNumber", "Number"), ("rxFunction", "Function")]
    return "\n".join(
        (*lines, *(f"highlight default link {a} {b}" for a, b in groups), "let b:current_syntax = 'rx'", "")
    )


def emacs() -> str:
    """The major mode for Emacs, with its server."""
    quoted = {
        "keywords": words.KEYWORDS, "constants": words.CONSTANTS, "types": (*words.TYPES, *words.DTYPE_NAMES)
    }  # fmt: skip
    lists = "\n".join(
        f"(defconst rx-lang-{name} '({' '.join(json.dumps(w) for w in found)}))" for name, found in quoted.items()
    )
    return f""";;; rx-lang-mode.el --- Rx programs, served by `rx lsp'  -*- lexical-binding: t -*-
;; Written by editor/highlighting.py.

{lists}

(defvar rx-lang-font-lock
  `(("@[A-Za-z_][A-Za-z0-9_.']*" . font-lock-function-name-face)
    (,(regexp-opt rx-lang-keywords 'symbols) . font-lock-keyword-face)
    (,(regexp-opt rx-lang-constants 'symbols) . font-lock-constant-face)
    (,(regexp-opt rx-lang-types 'symbols) . font-lock-type-face)))

;;;###autoload
(define-derived-mode rx-lang-mode prog-mode "Rx"
  "Programs whose shapes are checked."
  (setq-local comment-start "# " comment-end "" font-lock-defaults '(rx-lang-font-lock))
  (modify-syntax-entry ?# "<" rx-lang-mode-syntax-table)
  (modify-syntax-entry ?\\n ">" rx-lang-mode-syntax-table))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\\\.rx\\\\'" . rx-lang-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(rx-lang-mode . ("rx" "lsp"))))

(provide 'rx-lang-mode)
;;; rx-lang-mode.el ends here
"""


def files() -> dict[str, str]:
    """The generated files, by path below the project's folder."""
    return {
        "editors/vscode/syntaxes/rx.tmLanguage.json": json.dumps(textmate(), indent=2) + "\n",
        "editors/vscode/snippets/rx.json": json.dumps(snippets(), indent=2) + "\n",
        "editors/vim/syntax/rx.vim": vim(),
        "editors/vim/ftdetect/rx.vim": "autocmd BufRead,BufNewFile *.rx setfiletype rx\n",
        "editors/emacs/rx-lang-mode.el": emacs(),
    }


def write() -> None:
    for name, text in files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
