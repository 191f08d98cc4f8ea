"""Text indexes behind one protocol, and how they are built."""
