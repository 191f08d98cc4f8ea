"""The wanted exposure of groups: true targets and estimated ones. Calling the package runs `evenrank.targets`."""

from evenrank.callable_package import make_callable

make_callable(__name__, "evenrank.evaluation.topic_targets", "topic_targets")
