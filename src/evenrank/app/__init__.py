"""The web app: work lists for coordinators, saved searches for editors, assessment."""
