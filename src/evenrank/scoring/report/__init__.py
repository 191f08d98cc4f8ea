"""The report: tables, figures and one offline page."""
