"""Solvers behind the policy `optimal`: convex relaxations, rounding, and bounds that hold for every ranking."""
