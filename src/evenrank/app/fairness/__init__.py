"""Attention by group against the goal, as numbers and charts."""
