"""What the figures of several experiments have in common."""
