"""Search: engines, queries, text encoders and relevance models. Calling the package runs `evenrank.search`."""

from evenrank.callable_package import make_callable

make_callable(__name__, "evenrank.search.find", "search")
