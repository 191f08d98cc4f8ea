"""What visitors send: forms, questions, cookies, previews."""
