"""Sphinx configuration; nothing here needs the network.

The source folder is the root of the repository: the pages of the library are in
``docs``, the pages of the reproduction in ``paper/docs``.
"""

import os
import sys
from pathlib import Path

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from betanll._version import __version__
from betanll.cli import cli

project = "betanll"
author = "The betanll authors"
copyright = f"2026, {author}"
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
include_patterns = ["docs/**", "paper/docs/**"]
exclude_patterns = ["docs/_build"]
root_doc = "docs/index"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Tutorials run at every build, in a temporary folder. A cell that fails ends the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600
# Progress, which differs from build to build.
nb_output_stderr = "remove"
nb_merge_streams = True
# Cells call `betanll`, which is installed beside the interpreter of the build.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)

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
html_static_path = ["_static"]
html_css_files = ["cells.css"]
html_title = f"betanll {release}"


class CommandHelp(SphinxDirective):
    """The help of a command of ``betanll``, such as ``fit`` or ``data download``."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        command, context = cli, click.Context(cli, info_name="betanll")
        for name in self.arguments[0].split():
            command = command.get_command(context, name)
            if command is None:
                raise self.error(f"betanll has no command {self.arguments[0]!r}")
            context = click.Context(
                command, info_name=name, parent=context, terminal_width=84
            )
        with context:
            text = f"$ {context.command_path} --help\n{command.get_help(context)}"
        return [nodes.literal_block(text, text, language="text")]


def setup(app):
    app.add_directive("command-help", CommandHelp)
