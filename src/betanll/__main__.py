"""``python -m betanll``, and through it ``torchrun -m betanll``."""

from betanll.cli import main

if __name__ == "__main__":
    main()
