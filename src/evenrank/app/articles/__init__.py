"""Articles as rows of a list, and the candidates behind them."""
