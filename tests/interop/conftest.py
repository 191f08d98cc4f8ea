from tests.search.conftest import make_engine

__all__ = ["make_engine"]
