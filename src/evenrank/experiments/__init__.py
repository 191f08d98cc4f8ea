"""Experiments: policies tuned on a budget, and studies of many policies on many data sets."""
