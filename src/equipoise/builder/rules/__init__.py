"""Draft sentences in, sentences that pass the rules (with their counterparts) out; the rest keep their reasons."""
