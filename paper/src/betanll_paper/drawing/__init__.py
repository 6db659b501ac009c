"""Drawing functions for the figures of several experiments."""
