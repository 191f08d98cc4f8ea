"""Annotation on a Spark cluster: executors read, join and write; the driver only puts the parts together.

Works with a classic session (any master) and with Spark Connect. Executors see the dumps and the folder of
unfinished work under the same paths as the driver; this package is sent to them.
"""
