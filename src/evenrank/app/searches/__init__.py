"""Saved searches: editors come back and each gets another fair 50 (Task 2)."""
