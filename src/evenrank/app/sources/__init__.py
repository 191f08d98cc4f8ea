"""Articles that people bring: pasted titles, files, categories, banners and links of a wiki, and their combination."""
