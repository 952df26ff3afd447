"""What the site costs, each figure beside a plain piece of work on the same machine in the same run.

Guarantees: it runs in a process of its own on a database of its own that is deleted afterwards, never on
the site's data; every figure is a median; a ratio is the figure over what it is measured against.
"""
