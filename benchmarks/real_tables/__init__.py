"""Raw tables of public Python packages: what analysts have, read as it is.

See ``README.md`` in this folder for the environment, the commands and the rules.
"""
