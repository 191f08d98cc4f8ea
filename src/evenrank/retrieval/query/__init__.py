"""Topics and readers' words as weighted terms, and the candidates that they find."""
