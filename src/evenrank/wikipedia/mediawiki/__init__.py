"""The client of a MediaWiki: reads articles by category, banner, links or title, and publishes lists to a page."""
