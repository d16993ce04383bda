"""Digest: watches arXiv for saved queries and tells people once, calmly and at the right moment.

A paper travels `poll | parse | compare | match | plan | render | deliver`; each verb is a room of
this package, and `digest.serve.steps` walks them in order.
"""

__version__ = "0.1.0"

RELEASED_AS = ""
"""How a package index names this version, as `preprint-digest==0.1.0`; "" if none has it."""
