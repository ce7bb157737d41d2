"""The programs that run behind the fence: read as text, their capitals filled in, never imported here."""
