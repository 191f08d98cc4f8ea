"""Templates, the landing page and error pages."""
