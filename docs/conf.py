"""Sphinx configuration; nothing here needs the network.

The source folder is the root of the repository, for the pages of the library are in
``docs`` and those of the reproduction in ``paper/docs``.
"""

from betanll._version import __version__

project = "betanll"
author = "The betanll authors"
copyright = f"2026, {author}"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
include_patterns = ["docs/**", "paper/docs/**"]
exclude_patterns = ["docs/_build"]
root_doc = "docs/index"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Types and shapes are in the NumPy-style docstrings; signatures stay short.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# Types are prose ("array of shape (n,)"), not names to link: a word of it such as
# "shape" would otherwise be looked up among the attributes.
napoleon_use_param = False
napoleon_use_rtype = False
# The types of attributes are linked all the same, and several classes have a "shape".
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"betanll {release}"
