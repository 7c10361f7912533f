"""A prompt to a language model in, draft sentences out."""
