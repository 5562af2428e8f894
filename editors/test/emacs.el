;;; emacs.el --- What docs/editors.md tells users of Emacs, tried in batch mode  -*- lexical-binding: t -*-

;; emacs --batch -l emacs.el FOLDER SETTINGS: an empty folder, and a file with the settings.

(require 'subr-x)
(package-initialize)

(defconst folder (pop command-line-args-left))
(defconst text "# Both have rows of 3.
@wrong = fn(x : Tensor([n, 3], float32), w : Tensor([5, 3], float32)) : Tensor([n, 5], float32) {
    let y = @relu(x)
  @matmul(y, w)
}
")

(defun shows (what found)
  "Waits until FOUND gives something, or ends with the name of WHAT."
  (let ((end (+ (float-time) 60)))
    (while (not (or (funcall found) (< end (float-time))))
      (accept-process-output nil 0.1))
    (unless (funcall found)
      (message "Emacs does not show %s" what)
      (kill-emacs 1))
    (message "ok: %s" what)))

(defun face-of (part)
  "The face of the first PART in the buffer."
  (goto-char (point-min))
  (search-forward part)
  (goto-char (match-beginning 0))
  (get-text-property (point) 'face))

(defun told ()
  "Asks for the diagnostics of the buffer."
  (flymake-start)
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(load (pop command-line-args-left))
(setq eglot-sync-connect 60 eglot-connect-timeout 120)
(write-region text nil (expand-file-name "wrong.rx" folder))
(find-file (expand-file-name "wrong.rx" folder))
(font-lock-ensure)
(shows "the colours" (lambda () (and (eq (face-of "let") 'font-lock-keyword-face)
                                     (eq (face-of "float32") 'font-lock-type-face)
                                     (eq (face-of "Both") 'font-lock-comment-face))))
(call-interactively #'eglot)
(shows "the diagnostic" (lambda () (seq-some (lambda (said) (string-match-p "E305.*axis 1 of `y`" said)) (told))))
(eglot-format-buffer)
(shows "the layout" (lambda () (string-match-p "\n  let y" (buffer-string))))
(eglot--signal-textDocument/didChange)
(face-of "y = ")
(eglot-rename "rows")
(shows "the new name" (lambda () (string-match-p "let rows = @relu(x)\n  @matmul(rows, w)" (buffer-string))))
(set-buffer-modified-p nil)
(eglot-shutdown (eglot-current-server))

;; The file itself, compiled with every warning an error.
(let ((compiled (expand-file-name "rx-lang-mode.el" folder)))
  (copy-file (locate-library "rx-lang-mode.el") compiled)
  (setq byte-compile-error-on-warn t)
  (shows "no warning of the compiler" (lambda () (byte-compile-file compiled))))
