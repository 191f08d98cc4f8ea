from tests.retrieval.conftest import make_engine

__all__ = ["make_engine"]
