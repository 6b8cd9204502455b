"""What kind of task a pack is, found by rules and, where asked, by a model; and the table of many packs."""
