"""Fair work lists for Wikipedia, and the bench that proves them fair."""
