"""Talking to models. Below the sandbox, since building and judging task packs talk to models too."""
