"""From a topic to its rankings: candidates, estimated target, policy, run and record."""
