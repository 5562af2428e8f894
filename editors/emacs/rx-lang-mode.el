;;; rx-lang-mode.el --- Rx programs, served by `rx lsp'  -*- lexical-binding: t -*-
;; Written by editor/highlighting.py.

(defconst rx-lang-keywords '("as" "assert" "checkpoint" "const" "else" "extern" "fn" "for" "grad" "if" "import" "in" "inline" "jvp" "let" "prim" "private" "stack" "type" "vjp" "where" "while" "with" "wrt"))
(defconst rx-lang-constants '("false" "true"))
(defconst rx-lang-types '("Bool" "DType" "Shape" "Size" "Tensor" "bfloat16" "bool" "complex128" "complex64" "float16" "float32" "float4_e2m1fn" "float64" "float8_e4m3fn" "float8_e4m3fnuz" "float8_e5m2" "float8_e5m2fnuz" "float8_e8m0fnu" "int16" "int2" "int32" "int4" "int64" "int8" "string" "uint16" "uint2" "uint32" "uint4" "uint64" "uint8"))

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
  (modify-syntax-entry ?\n ">" rx-lang-mode-syntax-table))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.rx\\'" . rx-lang-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(rx-lang-mode . ("rx" "lsp"))))

(provide 'rx-lang-mode)
;;; rx-lang-mode.el ends here
