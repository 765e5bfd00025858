"""Sphinx: the reference of the Python package, from its docstrings.

    python -m sphinx -W -b html docs/api build/api      # needs sphinx, numpydoc and the package
"""

import re

import tessera

project = "Tessera"
version = release = tessera.__version__
copyright = "the authors of Tessera"  # noqa: A001
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
html_theme = "alabaster"
html_theme_options = {"fixed_sidebar": True, "page_width": "1150px", "sidebar_width": "270px"}
html_copy_source = False
default_role = "py:obj"  # `solve` in a docstring is a link.
add_module_names = False

# Types are in the lists of parameters.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch"]
autosummary_generate = False
numpydoc_show_class_members = False

# Errors: docstrings that are missing; parameters without a description, and names or an order that are
# not those of the function; results that are not described; unknown sections, or another order of them.
numpydoc_validation_checks = {
    "GL06", "GL07", "GL08", "PR01", "PR02", "PR03", "PR07", "PR10", "RT01", "YD01",
}  # fmt: skip
# Objects that functions make: their constructors are not for users, nor shown.
made = (
    r"^tessera\.(Direct|Inertia|Slogdet)$",
    r"^tessera\.(LinearOperator|SparseMatrix|Preconditioner|MultilevelSolver|Problem|Progress|Result)$",
    r"^tessera\.batched\.(Factors|SlogdetResult)$",
    r"^tessera\.structures\.(ErrorEstimate|Resultant|Section)$",
)
# gmres and idr say in their first lines what they have beside the common parameters.
numpydoc_validation_exclude = {*made, r"^tessera\.(gmres|idr)$"}


def without_constructor(app, what, name, obj, options, signature, returned):
    """Hides the signatures of objects that functions make."""
    if any(re.search(pattern, name) for pattern in made):
        return "", None
    return signature, returned


def setup(app):
    app.connect("autodoc-process-signature", without_constructor)
