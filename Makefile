# The first target that needs it makes the environment in .venv (see .ci/bootstrap).
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test lint types bench fuzz pictures lock

$(READY): requirements.lock .ci/bootstrap
	@PYTHON="$(PYTHON)" .ci/bootstrap environment
	@touch $(READY)

run: $(READY)
	@.ci/open

test: $(READY)
	@.ci/bootstrap libraries
	@.ci/bootstrap checkers
	@QT_QPA_PLATFORM=$${QT_QPA_PLATFORM:-offscreen} $(BIN)/python -m pytest

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@PYTHONPATH=. $(BIN)/lint-imports

types: $(READY)
	@$(BIN)/mypy

bench: $(READY)
	@.ci/bootstrap libraries
	@QT_QPA_PLATFORM=$${QT_QPA_PLATFORM:-offscreen} $(BIN)/python -m benchmarks

# Broken input for every importer, SECONDS long with each of two fuzzers. What is found is kept in .fuzz.
SECONDS ?= 20
fuzz: $(READY)
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

pictures: $(READY)
	@.ci/bootstrap libraries
	@$(BIN)/python docs/make_pictures.py
	@echo "The pictures in docs/pictures are new."

lock: $(READY)
	@$(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --extra test --extra dev \
		--custom-compile-command "make lock" --upgrade -o requirements.lock
