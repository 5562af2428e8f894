"""pygls's protocol, made strict: requests before `initialize` and after `shutdown` are refused, unreadable messages get an
error, and the session keeps the documents."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol, lsp_method

NOT_INITIALIZED = -32002


class NotInitialized(JsonRpcException):
    CODE = NOT_INITIALIZED
    MESSAGE = "the server is not initialized"


class RxProtocol(LanguageServerProtocol):
    """pygls's protocol without its documents: it splits lines differently from the language server protocol."""

    began = False

    def handle_message(self, message: Any) -> None:
        method, number = getattr(message, "method", None), getattr(message, "id", None)
        wrong = self._wrong(method)
        if wrong is None:
            self.began = self.began or method == lsp.INITIALIZE
            super().handle_message(message)
        elif number is not None:
            self._send_response(number, None, wrong.to_response_error())

    def _wrong(self, method: str | None) -> JsonRpcException | None:
        if method is None or method == lsp.EXIT:
            return None
        if self._shutdown:
            return JsonRpcInvalidRequest("the server is shutting down")
        if method == lsp.INITIALIZE:
            return JsonRpcInvalidRequest("the server is initialized already") if self.began else None
        return None if self.began else NotInitialized()

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Answer a request with unreadable parameters with an error."""
        try:
            return super().structure_message(data)
        except JsonRpcException as problem:
            if "id" in data and "method" in data:
                self._send_response(data["id"], None, problem.to_response_error())
            raise

    def _handed_on(self, method: str, params: Any) -> Generator[Any, Any, None]:
        handler = self.fm.features.get(method)
        if handler is not None:
            yield handler, (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        yield from self._handed_on(lsp.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        yield from self._handed_on(lsp.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        yield from self._handed_on(lsp.TEXT_DOCUMENT_DID_CLOSE, params)
