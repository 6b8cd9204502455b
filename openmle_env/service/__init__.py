"""The HTTP job API over a sandbox."""
