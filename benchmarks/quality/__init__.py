"""Quality of the regressor beside other libraries, on real tables.

See ``README.md`` in this folder for the environment, the commands and the rules.
"""
