"""What a package registers must not be seen by the tests of other folders."""

# --doctest-modules would import it, and so register its objectives for the whole run.
collect_ignore = ["extra_objectives"]
