"""What every request passes: host, rate and size limits, refusal of foreign forms, security headers, log."""
