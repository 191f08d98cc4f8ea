"""Pages of the whole app: landing page, sign-in, own lists, administration, errors; their templates and languages."""
