"""Assessment: assessors judge pooled pages blind, organisers watch the work and settle disagreements."""
