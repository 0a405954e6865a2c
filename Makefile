# `make run` opens the sandbox, `make test` runs the tests; both set up what is missing first.
#   make run SCENE=scenes/dam_break.toml      make test ARGS="-k device"      make run PYTHON=python3.12

VENV := .venv/bin
SCENE ?=
ARGS ?=
export PYTHON

.PHONY: run test soak goldens lint format set-up clean

run:
	@sh packaging/set_up.sh run
	@$(VENV)/matterbox run $(SCENE) $(ARGS)

test:
	@sh packaging/set_up.sh test
	@$(VENV)/python -m pytest $(ARGS)

soak:
	@sh packaging/set_up.sh test
	@$(VENV)/python -m pytest -m soak --results docs/soak.csv $(ARGS)

# Golden recordings of physics as it is now; tests/replay/test_goldens.py compares with them.
goldens:
	@sh packaging/set_up.sh test
	@PYTHONPATH=tests $(VENV)/python tests/replay/make_goldens.py

lint:
	@sh packaging/set_up.sh test
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .

format:
	@sh packaging/set_up.sh test
	@$(VENV)/ruff check --fix .
	@$(VENV)/ruff format .

set-up:
	@sh packaging/set_up.sh test

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
	find app tests -name __pycache__ -type d -prune -exec rm -rf {} +
