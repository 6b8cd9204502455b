"""Files that packs name and do not carry: found through each registry's own client, fetched, checked, kept once."""
