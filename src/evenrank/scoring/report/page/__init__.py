"""Parts of the report's offline page: markup, style and script, put together by `report_page`."""
