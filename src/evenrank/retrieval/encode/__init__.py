"""Text encoders, their vectors, and models that combine them with words."""
