"""Drafts in, sentences that pass the rules out, with their counterparts; rejected drafts keep their reasons."""
