"""Synthetic rooms, seen by a depth camera."""
