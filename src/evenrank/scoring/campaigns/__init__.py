"""Fair-ranking campaigns, each scored on its own files exactly as its organisers score them."""
