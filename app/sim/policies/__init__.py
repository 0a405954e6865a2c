"""Constraint policies: what each round of a substep scatters.

A policy is one function from a particle's state to (displacement, affine part) of its momentum.
The loop around it, the transfer, the contact and the return mapping are the same for all.
"""

METHODS = ("compliant", "classic", "explicit")
COMPLIANT, CLASSIC, EXPLICIT = range(len(METHODS))
