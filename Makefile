# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test chaos fuzz mutate lint format bench shape package tables docs clean

help:  ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/:/' | column -t -s ':'

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "qgcn needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,docs,sweep,tables,viz]'
	touch $@

demo: $(INSTALLED)  ## Embed a small graph and write a report to explore
	$(BIN)/qgcn demo

test: $(INSTALLED)  ## Run all tests
	$(BIN)/python -m pytest -n 2

chaos: $(INSTALLED)  ## Kill, fill, race and damage runs: every one must end alike, or say why not
	$(BIN)/python tests/chaos

lint: $(INSTALLED)  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)  ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED)  ## Measure speed and accuracy
	$(BIN)/python benchmarks/geometry.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/optimisers.py
	$(BIN)/python benchmarks/network.py
	$(BIN)/python benchmarks/network.py --scaling
	$(BIN)/python benchmarks/network.py --seeds cora
	$(BIN)/python benchmarks/network.py --seeds pubmed
	$(BIN)/python benchmarks/sampler.py
	$(BIN)/python benchmarks/reconstruction.py
	$(BIN)/python benchmarks/analysis.py

fuzz: $(INSTALLED)  ## Feed every reader with 100,000 damaged files
	cd tests && ../$(BIN)/python -m fuzz --count 100000

COUNT ?= 200
FLOOR ?= 0.95
mutate: $(INSTALLED)  ## Change the package in COUNT places, one at a time: the tests must notice a share of FLOOR
	$(BIN)/python harness/mutate.py --count $(COUNT) --floor $(FLOOR)

shape: $(INSTALLED)  ## Record the public names and signatures, after a change that is announced
	$(BIN)/python tests/shape.py --record

package: $(INSTALLED)  ## Build wheel and sdist, and run the wheel without the development tools
	$(BIN)/python tests/package.py

tables: $(INSTALLED)  ## Render the tables of README and docs from experiments/results
	$(BIN)/python experiments/tables.py

docs: $(INSTALLED)  ## Build the manual into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:  ## Remove what the other commands made
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
