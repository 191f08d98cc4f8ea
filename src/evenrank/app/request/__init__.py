"""What visitors send: forms, questions, cookies; what it may cost, and who may do what."""
