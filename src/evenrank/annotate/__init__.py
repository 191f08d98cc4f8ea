"""Page metadata from Wikipedia and Wikidata dumps. Calling the package runs `evenrank.annotate`."""

from evenrank.callable_package import make_callable

make_callable(__name__, "evenrank.annotate.labeller", "annotate")
