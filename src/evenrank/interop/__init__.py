"""Doors to other tools: measure strings, data frames, measure objects; none of them is needed to run."""
