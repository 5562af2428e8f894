"""A Pygments lexer for documents, notebooks and terminals; Pygments finds it by its entry point."""

from __future__ import annotations

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from .words import CONSTANTS, DTYPE_NAMES, KEYWORDS, TOKENS, TYPES, primitives


class RxLexer(RegexLexer):  # type: ignore[misc]
    """The lexer of Rx programs."""

    name = "Rx"
    url = "https://pypi.org/project/rxlang/"
    aliases = ("rx", "rxlang")
    filenames = ("*.rx",)
    mimetypes = ("text/x-rx",)
    _after = r"(?![\w'])"
    tokens = {
        "root": [
            (r"\s+", Whitespace),
            (TOKENS["COMMENT"], Comment.Single),
            (TOKENS["STRING"], String.Double),
            (TOKENS["FLOAT"], Number.Float),
            (TOKENS["INT"], Number.Integer),
            (words(primitives(), prefix="@", suffix=r"(?![\w'.])(?!\s*=[^=])"), Name.Builtin),
            (TOKENS["FN_NAME"], Name.Function),
            (words(KEYWORDS, suffix=_after), Keyword),
            (words(CONSTANTS, suffix=_after), Keyword.Constant),
            (words((*TYPES, *DTYPE_NAMES), suffix=_after), Keyword.Type),
            (TOKENS["NAME"], Name),
            (r"\*\*|//|==|!=|<=|>=|&&|\|\||\.\.\.|[-+*/%<>=!?]", Operator),
            (r"[()\[\]{},:;.]", Punctuation),
        ]
    }
