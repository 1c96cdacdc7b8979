"""Benches: every claim about speed has a file here that measures it (README.md lists them)."""
