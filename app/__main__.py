"""`python -m app` does what the command `matterbox` does."""

from app.cli import main

if __name__ == "__main__":
    main()
