"""From characters to tokens: words and their synonyms, names of instruments, turns of phrase put plainly."""
