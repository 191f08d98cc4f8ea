"""Articles: those of a question, those that people bring, and the collection as pages show it."""
