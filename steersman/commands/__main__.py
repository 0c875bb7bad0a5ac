"""`python -m steersman.commands`, which is `steersman` where it is not installed."""

from steersman.commands import main

if __name__ == "__main__":
    main()
