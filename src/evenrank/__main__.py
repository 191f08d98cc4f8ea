"""`python -m evenrank`: the command line, where the program `evenrank` is not on the path."""

from evenrank.cli.main import main

if __name__ == "__main__":
    main()
