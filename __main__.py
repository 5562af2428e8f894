"""`python -m rxlang` is the command rx."""

from .cli.start import main

if __name__ == "__main__":
    main()
