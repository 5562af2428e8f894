"""`python -m rxlang` runs the command `rx`."""

from .cli.start import main

if __name__ == "__main__":
    main()
