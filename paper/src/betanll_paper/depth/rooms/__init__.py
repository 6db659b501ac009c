"""Rooms that a program makes up, seen by a depth camera."""
