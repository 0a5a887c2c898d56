"""Run the command line: `python -m noisycount` does what the command `noisycount` does."""

from noisycount.cli import run

if __name__ == "__main__":
    run()
