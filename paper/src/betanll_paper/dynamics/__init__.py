"""Models of simulated dynamics: tables 2 and S7, figures 6, 9 and S4."""
