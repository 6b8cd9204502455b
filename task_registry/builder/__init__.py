"""Making task packs from raw material: a Kaggle competition or data set, or a folder; a model writes, we check."""
