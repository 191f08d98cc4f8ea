"""The ranking problem: items, groups, targets, attention and protocols, without input or output."""
