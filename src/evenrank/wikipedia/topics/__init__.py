"""Topics as the track made them: page lists of projects, with keywords and scope."""
