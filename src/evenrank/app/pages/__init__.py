"""Pages of the whole app: landing page, sign-in, one's own lists, administration, errors; their templates and languages."""
