# What a user and a continuous build both run. `make help` lists it.
# Needed on the machine: Python 3.11 or newer, make, a C++ compiler.

PYTHON ?= python3
PY ?= 3.13
JOBS ?= 2
MINUTES ?= 5
SANITIZER ?= address
PIP_FLAGS ?=

# Bytecode is kept, whatever the shell says: the files of all tests are else compiled by each worker.
export PYTHONDONTWRITEBYTECODE :=

comma := ,
VENV := .venv
BIN := $(VENV)/bin
# Editable installs are not compiled, so they need no compiler to be fetched either.
PIP_EDITABLE = HATCH_BUILD_NO_HOOKS=true $(call PIP_INSTALL,$(1)) --editable
# With uv the versions are those of dev.lock; without, the newest that pyproject.toml allows.
UV := $(shell command -v uv 2>/dev/null)
PIP = $(1)/bin/python -m pip install --disable-pip-version-check
PIP_INSTALL = $(if $(UV),$(UV) pip install --python $(1)/bin/python --constraint dev.lock,\
  $(call PIP,$(1))) --quiet $(PIP_FLAGS)
TEST_EXTRAS := dev,editor,isolate,mlir,torch,flax,models,docs,cluster,plot
# The public simulator that the benchmarks compare with; apart, because both own the package ttl.
PEER_VERSION := 1.1.6
PEER_TORCH := 2.13.0
PEER_VENV := .venv-peer
PEER_READY := $(PEER_VENV)/.tt-lang-sim-$(PEER_VERSION)-torch-$(PEER_TORCH)
# The public compiler, which compiles without ttnn: its wheel needs Python 3.12 and a machine that
# has one. Where it cannot be installed, compile times are compared with figures of another machine.
COMPILER_VERSION := 1.1.1
COMPILER_VENV := .venv-compiler
# pyttlang as a published wheel, its hot path compiled: what a user gets. An installation from the sources,
# whose time is measured before, compiles the same with less care.
BENCH_VENV := .venv-bench
PUBLISHED = $(shell $(PYTHON) -c 'import tomllib; print(*("=".join(each) for each in \
  tomllib.load(open("pyproject.toml", "rb"))["tool"]["cibuildwheel"]["environment"].items()))')
# On the Python of the public compiler if there is one: compile times are compared on the same.
BENCH_PYTHON = $(shell (cd tests && $(PYTHON) -m interpreters) 2>/dev/null || echo $(PYTHON))
COMPILED_VENV := .venv-compiled
WHEEL_SOURCES := pyproject.toml hatch_build.py $(shell find src -name '*.py' -o -name '*.[ch]' -o -name '*.cpp')
COMPILER_READY := $(COMPILER_VENV)/.tt-lang-$(COMPILER_VERSION)
# -P: the interpreter does not put the current folder on its path. A file's tests run in one process,
# which then makes what they share once. Files come in the order of their names: the last folder,
# tests/unit, has the quick ones, so that no worker is left with a slow one at the end.
PYTEST := -P -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder
# What is tested within a minute: the language, its rules and the compiler, without programs that run.
FAST_TESTS := $(addprefix tests/unit/,artifact codegen device diagnostics dialects frontend \
  language passes semantics source target tools trace view) tests/meta/test_import_table.py \
  tests/meta/test_public_api.py tests/meta/test_release.py

.PHONY: help demo test test-full test-compiled check bench mutation mutation-language test-py clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo             install into .venv, run one program simulated and compiled'
	@echo 'make test             install what the tests need, run the whole suite, and the tests of the'
	@echo '                      simulator and the language with the wheel that users install'
	@echo 'make check            ruff, mypy and the fast tests'
	@echo 'make test-full        the suite with its slow tests'
	@echo 'make fuzz MINUTES=5   random programs and damaged files on all engines and cores; SEED=n,'
	@echo '                      KINDS="nodes mutants" and SCHEDULER=tcp://... choose; failures are'
	@echo '                      made smaller and kept in build/fuzz/failures'
	@echo 'make soak             10,000 launches, tensors up to 4 GB, 10,000 nodes, 16 processes;'
	@echo '                      SOAK="--megabytes 64 512" chooses sizes and parts'
	@echo 'make test-sanitize    the executor under ASan and UBSan; SANITIZER=thread under TSan'
	@echo 'make test-compiled    all tests of the simulator and the language, with the compiled wheel'
	@echo 'make docs             the site of the documentation, in site/'
	@echo 'make bench            the benchmarks, side by side with the public tools in .venv-peer and'
	@echo '                      .venv-compiler; figures in build/bench.json; ONLY="add-1x1 softmax"'
	@echo '                      chooses rows of the table, QUICK=1 makes fewer calls'
	@echo 'make bench-readme     the table of README.md from build/bench.json'
	@echo 'make bench-device     what a call on a device costs the host, with the real ttnn and no device'
	@echo 'make bench-view       a page of 64 nodes x 100,000 events: its size, when it is there'
	@echo 'make ttnn-drift       the tests of headers and descriptors with the newest ttnn: a report;'
	@echo '                      VERSIONS="0.81.1 0.82.0" chooses others'
	@echo 'make tutorials        the tutorials of tt-lang-sim at full size, with their times;'
	@echo '                      ONLY="elementwise matmul/step_4" chooses some of them'
	@echo 'make mutation         remove or displace one synchronization at a time in the examples'
	@echo 'make mutation-language  break rules of the language one at a time; the tests must notice'
	@echo 'make test-py PY=3.13  the suite on another Python, in .venv-3.13'
	@echo '                      NUMPY=1.26.* with another numpy, without the tests that need jax'
	@echo 'make lint             ruff and mypy'
	@echo 'make dist             the pure wheel and the sources, in dist/'
	@echo 'make lock             dev.lock again: the versions of the developers'"'"' environment (uv)'
	@echo 'make bench-watch      a few times in times.json; BEFORE=FILE compares with another'
	@echo 'make upstream         newer versions of what we build on, and what they break: a report'
	@echo 'make clean            remove the virtual environments and caches of this folder'
	@echo
	@echo 'PYTHON=python3.12 chooses the interpreter, JOBS=4 the number of test processes,'
	@echo 'PIP_FLAGS=... is handed to pip.'

demo: $(VENV)/.demo
	@$(BIN)/python -m benchmarks.demo

test: $(VENV)/.test headers tutorial-wheel real-ttnn chromium
	$(BIN)/python $(PYTEST)
	@$(MAKE) --no-print-directory test-compiled COMPILED_SHARE='--one-in 2'

test-full: $(VENV)/.test headers tutorial-wheel real-ttnn chromium
	$(BIN)/python $(PYTEST) --full
	@$(MAKE) --no-print-directory test-compiled COMPILED_SHARE=--full

# Past failures first, then new cases until the time is over.
.PHONY: fuzz
fuzz: $(VENV)/.test
	@cd tests && ../$(BIN)/python -m fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) \
	  $(if $(KINDS),--kinds $(KINDS)) $(if $(SCHEDULER),--scheduler $(SCHEDULER))

# Long, large and many: memory and descriptors have to stay flat.
.PHONY: soak
soak: $(VENV)/.dev
	@cd tests && ../$(BIN)/python -m soak $(SOAK)

.PHONY: test-sanitize
test-sanitize: $(VENV)/.test
	@cd tests && ../$(BIN)/python -m sanitize $(SANITIZER)

.PHONY: lint
lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

# mypy is one process, and what it takes without its cache is as long as the tests take.
check: $(VENV)/.test
	@$(MAKE) --no-print-directory -j 2 lint fast-tests

.PHONY: fast-tests
fast-tests: $(VENV)/.test headers
	$(BIN)/python $(PYTEST) $(FAST_TESTS)

# Links that lead nowhere are errors. The pages open from disk; over a server they can be searched.
.PHONY: docs
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --site-dir site
	@echo 'the site: site/index.html'

# Without one of the public tools its rows are not measured, and say so.
bench: $(BENCH_VENV)/.ready
	-@$(MAKE) --no-print-directory $(PEER_READY)
	-@$(MAKE) --no-print-directory $(COMPILER_READY)
	@$(BENCH_VENV)/bin/python -m benchmarks --peer $(PEER_VENV) --compiler $(COMPILER_VENV) \
	  --out build/bench.json $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick)

# The table of README.md is that of the last `make bench`.
.PHONY: bench-readme
bench-readme:
	@$(PYTHON) -m benchmarks.tables build/bench.json

# What runs on the simulator, with the compiled wheel.
test-compiled: $(COMPILED_VENV)/.ready
	@$(COMPILED_VENV)/bin/python -P -c 'from ttl.sim.place import IS_COMPILED; assert IS_COMPILED'
	$(COMPILED_VENV)/bin/python $(PYTEST) $(COMPILED_SHARE) tests/unit/sim tests/unit/language \
	  tests/unit/source tests/unit/ttnn tests/unit/semantics tests/unit/trace tests/conformance \
	  tests/diagnostics tests/differential tests/races

# Rules of the language, broken one at a time in a copy of src.
mutation-language: $(VENV)/.dev
	$(BIN)/python tests/mutation/language.py --jobs $(JOBS)

# Synchronizations of the examples, removed or displaced one at a time.
mutation: $(VENV)/.dev
	$(BIN)/python tests/mutation/synchronization.py --jobs $(JOBS) $(ONLY)

# Fetched before the tests start, so that no test waits for it.
.PHONY: headers
headers: $(VENV)/.dev
	@cd tests && ../$(BIN)/python -m headers.metal_headers

.PHONY: tutorial-wheel
tutorial-wheel: $(VENV)/.dev
	@cd tests && ../$(BIN)/python -m tutorials.wheel

# The tutorials of the public simulator as they are; the matrix products take their time.
.PHONY: tutorials
tutorials: $(VENV)/.test
	@cd tests && ../$(BIN)/python -m tutorials $(ONLY)

# The environment grows in stages; a changed pyproject.toml starts it anew.
$(VENV)/.created: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Python 3.11 or newer is needed; name one with PYTHON=python3.12'; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.created
	$(call PIP_EDITABLE,$(VENV)) .
	@$(BIN)/python -m compileall -q src  # also where Python is told not to write bytecode itself
	@touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(call PIP_EDITABLE,$(VENV)) '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.demo
	$(call PIP_EDITABLE,$(VENV)) '.[docs]'
	@touch $@

$(VENV)/.test: $(VENV)/.dev
	$(call PIP_EDITABLE,$(VENV)) '.[$(TEST_EXTRAS)]'
	@touch $@

$(BENCH_VENV)/.ready: $(WHEEL_SOURCES)
	rm -rf $(BENCH_VENV)
	$(BENCH_PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_PYTHON) -m benchmarks.bench $(BENCH_VENV)/install.json $(call PIP_INSTALL,$(BENCH_VENV)) .
	$(PUBLISHED) $(call PIP_INSTALL,$(BENCH_VENV)) --force-reinstall --no-deps .
	@touch $@

$(COMPILED_VENV)/.ready: $(WHEEL_SOURCES)
	rm -rf $(COMPILED_VENV)
	$(PYTHON) -m venv $(COMPILED_VENV)
	$(call PIP_INSTALL,$(COMPILED_VENV)) '.[$(TEST_EXTRAS)]'
	@touch $@

$(PEER_READY):
	rm -rf $(PEER_VENV)
	$(PYTHON) -m venv $(PEER_VENV)
	$(call PIP_INSTALL,$(PEER_VENV)) tt-lang-sim==$(PEER_VERSION) torch==$(PEER_TORCH)
	@touch $@

$(COMPILER_READY):
	rm -rf $(COMPILER_VENV)
	mkdir $(COMPILER_VENV)
	@if python=$$(cd tests && $(PYTHON) -m interpreters); then \
	  { $$python -m venv $(COMPILER_VENV) && $(call PIP_INSTALL,$(COMPILER_VENV)) --no-deps \
	    tt-lang==$(COMPILER_VERSION) numpy typing_extensions; } || \
	  { rm -rf $(COMPILER_VENV); mkdir $(COMPILER_VENV); }; fi
	@touch $@

# The versions of the developers' environment, as uv resolves them today.
.PHONY: lock
lock:
	$(or $(UV),$(error make lock needs uv)) pip compile --quiet --universal --no-header --no-annotate \
	  --python-version 3.11 $(patsubst %,--extra %,$(subst $(comma), ,$(TEST_EXTRAS))) \
	  --upgrade pyproject.toml --output-file dev.lock

# Made before the tests start, so that no test waits for it.
.PHONY: real-ttnn
real-ttnn: $(VENV)/.dev
	@cd tests && ../$(BIN)/python -m device.real_ttnn

# Debian's package, where this user may install it; the pages are looked at in it.
.PHONY: chromium
chromium: $(VENV)/.dev
	@cd tests && ../$(BIN)/python -m view.chromium

# Kernels and descriptors with the newest ttnn that the package registry has: a report.
.PHONY: ttnn-drift
ttnn-drift: $(VENV)/.test
	@cd tests && ../$(BIN)/python -m ttnn_drift $(VERSIONS)

# What a call on a device costs the host, with the objects of the real ttnn.
.PHONY: bench-device
bench-device: real-ttnn
	@$(BIN)/python -m benchmarks.device_calls

# Pages of long runs.
.PHONY: bench-view
bench-view: $(VENV)/.dev
	@$(BIN)/python -m benchmarks.view_speed

# NUMPY=1.26.* has the tests meet another numpy than that of dev.lock. jax needs numpy 2, so what is
# compared with it is left out then.
NUMPY_TESTS := $(addprefix tests/,unit conformance diagnostics differential property races e2e golden) \
  --ignore=tests/unit/dialects/test_stablehlo.py
test-py: .venv-$(PY)/.test
	$(if $(NUMPY),$(call PIP,.venv-$(PY)) --quiet $(PIP_FLAGS) 'numpy==$(NUMPY)')
	@cd tests && ../.venv-$(PY)/bin/python -m headers.metal_headers
	@cd tests && ../.venv-$(PY)/bin/python -m tutorials.wheel
	@cd tests && ../.venv-$(PY)/bin/python -m device.real_ttnn
	@cd tests && ../.venv-$(PY)/bin/python -m view.chromium
	.venv-$(PY)/bin/python $(PYTEST) $(if $(NUMPY),$(NUMPY_TESTS))

.venv-$(PY)/.test: pyproject.toml
	@python$(PY) --version >/dev/null 2>&1 || \
	  { echo 'there is no python$(PY) on this machine; choose another with PY='; exit 1; }
	rm -rf .venv-$(PY)
	python$(PY) -m venv .venv-$(PY)
	$(call PIP_EDITABLE,.venv-$(PY)) '.[$(TEST_EXTRAS)]'
	@touch $@

# What a release has beside the compiled wheels: the pure wheel and the sources.
.PHONY: dist
dist: $(VENV)/.dev
	HATCH_BUILD_NO_HOOKS=true $(BIN)/python -m hatchling build -d dist

# Times of a few programs as shares of a fixed piece of work; BEFORE=FILE: none may be much longer.
.PHONY: bench-watch
bench-watch: $(VENV)/.demo
	@$(BIN)/python -m benchmarks.watch times.json $(BEFORE)

# The newest versions of what we build on: which there are, and what they break. A report.
.PHONY: upstream
upstream: $(VENV)/.test
	@cd tests && ../$(BIN)/python -m upstream $(ONLY)

clean:
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build site
