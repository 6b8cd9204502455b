"""Programs that become scripts of packs. Nothing here is imported: they run in a sandbox only."""
