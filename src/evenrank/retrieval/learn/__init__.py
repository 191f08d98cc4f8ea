"""The learned relevance model: features, training, calibration, model files."""
