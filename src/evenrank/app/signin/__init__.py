"""Sign-in with an account of the configured wiki: OAuth 2 with PKCE, sessions kept on the server."""
