"""Archives that nobody vouches for: read as streams, refused as a whole where a member could do harm."""
