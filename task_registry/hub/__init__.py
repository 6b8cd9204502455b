"""Sharing task packs as Hugging Face data sets, and tables of specifications to train on."""
